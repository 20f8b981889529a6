package ledger_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arche-ledger/arche/internal/arctest"
)

// seeded are mistakes put into the source one at a time: in file, old becomes
// new, and the named test of the package must fail. A test that catches none of
// them proves nothing.
var seeded = []struct{ name, file, old, new, pkg, test string }{
	{"the head is not synced", "ledger/duck/head.go", `hf.fault("head.sync")`, `error(nil)`, "./ledger/duck", "TestHeadFaultsLeaveTheOldHead"},
	{"one head slot only", "ledger/duck/head.go", `(n%2)*slotSize`, `0*slotSize`, "./ledger/duck", "TestHeadSurvivesTornWrites"},
	{"files are reachable from SQL", "ledger/duck/db.go", `enable_external_access=false`, `enable_external_access=true`, "./ledger/duck", "TestHardeningRefusesTheOutside"},
	{"files are readable by others", "ledger/duck/umask_unix.go", `syscall.Umask(0o077)`, `syscall.Umask(0o022)`, "./ledger/duck", "TestFilesArePrivate"},
	{"a fatal error keeps the opening", "ledger/duck/store.go", `if s.db.fatal {`, `if false {`, "./ledger/duck", "TestFatalClosesAndTheNextCallWorks"},
	{"the gate opens before the file is closed", "ledger/duck/store.go", `	if err := s.openFile(ctx); err != nil {`, "	_ = s.gate.leave()\n	if err := s.openFile(ctx); err != nil {", "./ledger/duck", "TestTwoStoresTakeTurns|TestBusyNamesTheHolder"},
	{"the head is not written", "ledger/unit.go", `u.l.store.Remember(logMain, u.seq, u.link)`, `error(nil)`, "./ledger", "TestLostAndRewrittenEventsAreReported"},
	{"the head is not compared", "ledger/catchup.go", `if end.seq < h.Seq {`, `if false {`, "./ledger", "TestLostAndRewrittenEventsAreReported"},
	{"a rewritten end is not compared", "ledger/catchup.go", `if link != h.Link {`, `if link != h.Link && h.Seq < 0 {`, "./ledger", "TestLostAndRewrittenEventsAreReported"},
	{"links do not cover the actor", "ledger/event.go", `b = appendPlain(b, e.actor)`, `b = appendPlain(b, "")`, "./ledger", "TestWorkedExample"},
	{"opening ignores links", "ledger/catchup.go", `case chainLink(prevLink, e) != e.link:`, `case false:`, "./ledger", "TestLostAndRewrittenEventsAreReported"},
	{"verify ignores one link", "ledger/verify.go", `if !l.linked {`, `if !l.linked && e.seq != 3 {`, "./ledger", "TestVerifyChecksEveryEvent|TestTamperingIsNamed"},
	{"others' events are not folded", "ledger/catchup.go", "	err = l.foldFrom(ctx, db, l.state, true)\n", "	if fresh {\n		err = l.foldFrom(ctx, db, l.state, true)\n	}\n", "./ledger", "TestTwoLedgersOnOneFileSeeEachOther"},
	{"reading starts one event early", "ledger/eventrows.go", `WHERE seq > ? AND seq <= ?`, `WHERE seq >= ? AND seq <= ?`, "./ledger", "TestReopenedLedgerAnswersTheSame|TestChicagoLists"},
	{"a repeat appends", "ledger/record_decision.go", `case c.same == same, s.live(current) && c.link:`, `case false:`, "./ledger", "TestRepeatAppendsNothing"},
	{"a decision supersedes itself", "ledger/decision.go", `id != r.s.publicID(i) {`, `id != "" {`, "./ledger", "TestBetterThanTheReference"},
	{"contradicting links hold", "ledger/exact.go", `			return true, nil
		}
	}
	return false, nil`, `			return false, nil
		}
	}
	return false, nil`, "./ledger", "TestContradictingLinkIsWithheld"},
	{"contents are not compared", "ledger/record.go", `if blake3.Sum256(data) != s.recs[i].content {`, `if false {`, "./ledger", "TestAlteredScoreIsAnError"},
	{"projection rows are not compared", "ledger/decision.go", `		if !slices.Equal(v, want) {`, `		if len(v) != len(want) {`, "./ledger", "TestAlteredScoreIsAnError"},
	{"evidence is dropped", "ledger/observe.go", `			merged.Set(k, v)`, `			merged.Set(k, v)
			merged.Delete("remark")`, "./ledger", "TestRandomHistories"},
	{"field names come in map order", "ledger/entities.go", `	slices.Sort(conflicting)
`, ``, "./ledger", "TestGoldenScenarios"},
	{"no path leads to itself", "ledger/path.go", `		return nil, true
	}
	if e`, `		return nil, false
	}
	if e`, "./ledger", "TestRandomHistories"},
	{"the wrong entity survives a merge", "ledger/component.go", `if b.born < c.at && a.born >= c.at {`, `if b.born < c.at {`, "./ledger", "TestGoldenScenarios"},
	{"inclusion proofs are not checked", "ledger/proof/file.go", `f.Hashes, c.Root); err != nil {`, `f.Hashes, c.Root); err != nil && c.Size == 0 {`, "./ledger", "TestEveryByteOfAProofCounts"},
	{"a proof file may have two spellings", "ledger/proof/file.go", `!bytes.Equal(again, data) {`, `!bytes.Equal(again, again) {`, "./ledger", "TestEveryByteOfAProofCounts"},
	{"a proof's signer is not compared", "ledger/proof/file.go", `if f.Key != attest.EncodeDID(key) {`, `if _ = attest.EncodeDID; false {`, "./ledger", "TestEveryByteOfAProofCounts"},
}

// TestSeededDefectsAreCaught puts each mistake in and runs the test that must
// catch it. It compiles the packages once a mistake, so it runs only when asked:
// ARCHE_DEFECTS=1 go test ./ledger -run TestSeededDefectsAreCaught -v.
func TestSeededDefectsAreCaught(t *testing.T) {
	root := arctest.Root(t)
	for _, d := range seeded {
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(d.file)))
		if err != nil {
			t.Fatal(err)
		}
		// That each mistake can still be made is checked always.
		if n := strings.Count(string(source), d.old); n < 1 {
			t.Errorf("%s: %s has no %q", d.name, d.file, d.old)
			continue
		}
		if os.Getenv("ARCHE_DEFECTS") == "" {
			continue
		}
		t.Run(d.name, func(t *testing.T) {
			if out, failed := runWith(t, root, d.file, strings.Replace(string(source), d.old, d.new, 1), d.pkg, d.test); !failed {
				t.Errorf("%s does not catch it:\n%s", d.test, out)
			}
		})
	}
}

// runWith runs a test with one source file replaced and reports whether a test
// failed; a mistake that does not compile is none.
func runWith(t *testing.T, root, file, text, pkg, test string) (out string, failed bool) {
	t.Helper()
	dir := t.TempDir()
	changed := filepath.Join(dir, "changed.go")
	if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, filepath.FromSlash(file)): changed}})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"test", "-count=1", "-overlay", list, "-run", "^(" + test + ")$", pkg}
	if pkg == "./ledger" {
		args = append(args, "-rapid.nofailfile")
	}
	cmd := exec.Command("go", args...) //nolint:gosec // constants of this file
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "ARCHE_DEFECTS=")
	text2, err := cmd.CombinedOutput()
	if strings.Contains(string(text2), "[build failed]") || strings.Contains(string(text2), "[setup failed]") {
		t.Fatalf("the mistake does not compile:\n%s", text2)
	}
	return string(text2), err != nil
}

package ledger

import (
	"errors"
	"testing"

	"github.com/arche-ledger/arche/attest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger/proof"
)

// FuzzFold feeds the fold bodies that nobody of ours wrote: an error or a
// state, never a panic.
func FuzzFold(f *testing.F) {
	kinds := []string{KindRecordStored, KindRunRecorded, KindDecisionRecorded, KindEvidenceObserved, KindOperatorDecided, KindValuesErased, "document.written"}
	rec := recordPrefix + zeroLink
	f.Add(uint8(0), rec, `{"content":"`+zeroLink+`","entity_type":"person"}`)
	f.Add(uint8(1), "run:blake3:"+zeroLink, `{"a":["`+rec+`",{"record":"x"},7],"b":"lst:blake3:0","call":{"id_field":"id"},"verb":"reconcile"}`)
	f.Add(uint8(2), "xwd:sha256:"+zeroLink+"@"+rec+"|"+rec, `{"decision_id":"xwd:sha256:`+zeroLink+`","identity":"match","link":true,"pos":null,"run":"","score":1,"verb":"resolve"}`)
	f.Add(uint8(3), "obs:"+rec, `{"new_record":"`+rec+`"}`)
	f.Add(uint8(4), "pair:"+rec+"|"+rec, `{"verdict":"same"}`)
	f.Fuzz(func(_ *testing.T, kind uint8, subject, body string) {
		s := newState()
		s.rows = newRowSet()
		stored := Event{version: eventVersion, kind: KindRecordStored, subject: rec, seq: 1}
		if err := s.apply(&stored, storedBody{entityType: "person"}); err != nil {
			return
		}
		e := Event{version: eventVersion, kind: kinds[int(kind)%len(kinds)], subject: subject, body: body, seq: 2}
		parsed, err := parseBody(&e, func(string, int64) ([]string, error) { return nil, errors.New("no list") })
		if err == nil {
			_ = s.apply(&e, parsed)
			s.flushPending()
		}
	})
}

// FuzzBackupLines reads lines of a backup that were not written by one.
func FuzzBackupLines(f *testing.F) {
	f.Add([]byte(`{"seq":1,"address":"doc:blake3:00","bytes":"aGVsbG8="}`))
	f.Add([]byte(`{"log":"main","seq":1,"v":1,"id":"x","kind":"k","subject":"s","supersedes":null,"body":"{}","actor":"a","recorded_at":"2026-12-01T08:30:00.000000Z","link":"l"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		o, err := canon.ParseObject(line, canon.Limits{Depth: 4})
		if err != nil {
			return
		}
		blobLine(o)
		if row, ok := eventLine(o); ok {
			if _, err := scanEvent(row); err != nil {
				t.Errorf("a line that is a row cannot be read back: %v", err)
			}
		}
	})
}

// FuzzCheckpoint opens notes that nobody signed.
func FuzzCheckpoint(f *testing.F) {
	k, err := attest.GenerateKey()
	if err != nil {
		f.Fatal(err)
	}
	f.Add("arche-ledger/00\n1\nAAAA\n\n— arche-ledger/00 AAAA\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := proof.Open(text, k.Public()); err == nil {
			t.Errorf("accepted %q", text)
		}
	})
}

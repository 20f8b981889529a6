package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"golang.org/x/sync/errgroup"

	"github.com/arche-ledger/arche/internal/arctest"
	"github.com/arche-ledger/arche/internal/canon"
	"github.com/arche-ledger/arche/ledger"
	"github.com/arche-ledger/arche/ledger/documents"
	"github.com/arche-ledger/arche/mcpserver"
	"github.com/arche-ledger/arche/mcpserver/hosts"
)

const goldenDir = "../testdata/golden"

// goldenFiles are the files whose vectors are tool calls.
var goldenFiles = []string{"seed.jsonl", "resolve.jsonl", "resolve-0.10.jsonl", "ledger.jsonl", "detect.jsonl", "documents.jsonl"}

// departures are the cases in which another answer is wanted, with the reason.
func departures(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(goldenDir, "departures.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]string
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	for id, reason := range d {
		if len(reason) < 15 {
			t.Errorf("departure %s has no reason", id)
		}
	}
	return d
}

// TestConformance drives every golden vector through a server in this process
// and prints the agreement by tool. A vector that differs and is not listed in
// departures.json fails; so does a listed one that agrees.
func TestConformance(t *testing.T) {
	allowed := departures(t)
	agree, total := map[string]int{}, map[string]int{}
	for _, file := range goldenFiles {
		vectors := arctest.Vectors(t, file)
		verdicts := playAll(t, file, vectors)
		for i, v := range vectors {
			tool := arctest.TextOf(v.Raw, "tool")
			if strings.HasPrefix(tool, "internal.") {
				continue
			}
			if tool == "" {
				tool = "scenario:" + strings.TrimSuffix(file, ".jsonl")
			}
			why := verdicts[i]
			reason, listed := allowed[v.ID]
			delete(allowed, v.ID)
			total[tool]++
			switch {
			case why == "" && listed:
				t.Errorf("%s agrees and is still listed as a departure: %s", v.ID, reason)
			case why == "":
				agree[tool]++
			case listed:
				t.Logf("departs %s: %s (%s)", v.ID, why, reason)
			case v.Fault != "":
				t.Logf("departs %s: records a defect of the published program (%s): %s", v.ID, v.Fault, why)
				total[tool]--
			default:
				t.Errorf("%s %s: %s", v.ID, tool, why)
			}
		}
	}
	for id := range allowed {
		t.Errorf("departures.json names %s, which no golden file has", id)
	}
	printAgreement(agree, total)
}

// playAll runs the vectors of a file, scenarios side by side, and returns where
// each differs.
func playAll(t *testing.T, file string, vectors []arctest.Vector) []string {
	verdicts := make([]string, len(vectors))
	pool := map[string]*mcpserver.Server{}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, v := range vectors {
		if strings.HasPrefix(arctest.TextOf(v.Raw, "tool"), "internal.") {
			continue
		}
		if !v.Raw.Has("steps") {
			verdicts[i] = play(t, file, v, pool)
			continue
		}
		g.Go(func() error {
			verdicts[i] = play(t, file, v, nil)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// printAgreement writes the table that continuous integration shows.
func printAgreement(agree, total map[string]int) {
	fmt.Printf("%-34s%8s%8s%9s\n", "tool", "agree", "of", "share")
	sumAgree, sum := 0, 0
	for _, tool := range slices.Sorted(maps.Keys(total)) {
		if total[tool] > 0 {
			fmt.Printf("%-34s%8d%8d%8.1f%%\n", tool, agree[tool], total[tool], 100*float64(agree[tool])/float64(total[tool]))
		}
		sumAgree += agree[tool]
		sum += total[tool]
	}
	fmt.Printf("%-34s%8d%8d%8.1f%%\n", "all", sumAgree, sum, 100*float64(sumAgree)/float64(max(sum, 1)))
}

// play runs one vector and says where it differs. Calls without steps share a
// server by environment.
func play(t *testing.T, file string, v arctest.Vector, pool map[string]*mcpserver.Server) string {
	t.Helper()
	env := map[string]string{}
	if e, ok := v.Raw.Value("env").(*canon.Object); ok {
		for k, value := range e.All() {
			env[k] = canon.Text(value)
		}
	}
	if file == "resolve-0.10.jsonl" {
		env["ARCHE_PACK_VERSION"] = "0.10"
	}
	scenario := v.Raw.Has("steps")
	var server *mcpserver.Server
	var project string
	if scenario {
		if env["ARCHE_LEDGER"] == "" {
			env["ARCHE_LEDGER"] = "duckdb:///:memory:"
		}
		project = layProject(t, v)
		var end func()
		server, end = serverFor(t, env, project)
		defer end()
	} else {
		key := fmt.Sprint(env)
		if pool[key] == nil {
			pool[key], _ = serverFor(t, env, t.TempDir())
		}
		server = pool[key]
	}
	c := arctest.NewComparison()
	var answers []any
	for i, step := range v.Steps {
		got, err := ask(t, server, step, answers)
		if err != nil {
			return fmt.Sprintf("step %d: %v", i, err)
		}
		answers = append(answers, got)
		if !step.Raw.Has("want") {
			continue
		}
		if why := judge(c, step.Want, got, v.Ignored(step)); why != "" {
			return fmt.Sprintf("step %d %s: %s", i, step.Tool, why)
		}
	}
	return checkAfter(v, project)
}

// outputSchemas are what the tools promise of their answers, by tool.
var outputSchemas = sync.OnceValue(func() map[string]*jsonschema.Resolved {
	files, err := filepath.Glob("testdata/tools/*.json")
	if err != nil || len(files) == 0 {
		panic("no tool snapshots")
	}
	all := map[string]*jsonschema.Resolved{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		var tool struct {
			Name         string
			OutputSchema *jsonschema.Schema
		}
		if err := json.Unmarshal(b, &tool); err != nil {
			panic(err)
		}
		if all[tool.Name], err = tool.OutputSchema.Resolve(nil); err != nil {
			panic(err)
		}
	}
	return all
})

// promised says where an answer breaks its tool's output schema.
func promised(tool string, answer []byte) error {
	schema, ok := outputSchemas()[tool]
	if !ok {
		return nil
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return err
	}
	return schema.Validate(v)
}

// ask calls one tool as the transports do; a refusal is {"error": text}.
func ask(t *testing.T, server *mcpserver.Server, step arctest.Step, answers []any) (any, error) {
	t.Helper()
	given := step.Args
	if given == nil {
		given = &canon.Object{}
	}
	args, err := arctest.Fill(given, answers)
	if err != nil {
		return nil, err
	}
	raw, err := canon.Compact(args)
	if err != nil {
		return nil, err
	}
	reply, err := server.Call(t.Context(), step.Tool, raw)
	if err != nil {
		return canon.Obj("error", err.Error()), nil
	}
	if reply.Fault != nil {
		return canon.Obj("error", reply.Fault.Message), nil
	}
	if _, plain := reply.Value.(mcpserver.Plain); !plain {
		if err := promised(step.Tool, reply.Answer); err != nil {
			return nil, fmt.Errorf("the answer breaks its output schema: %w", err)
		}
	}
	v, err := canon.Parse(reply.Answer, canon.Limits{Depth: 4096})
	if err != nil {
		return string(reply.Answer), nil
	}
	return v, nil
}

func judge(c *arctest.Comparison, want, got any, ignore []string) string {
	refused := func(v any) (any, bool) {
		o, ok := v.(*canon.Object)
		if !ok {
			return nil, false
		}
		return o.Get("error")
	}
	_, wantError := refused(want)
	text, gotError := refused(got)
	switch {
	case wantError && !gotError:
		return "want an error, got " + arctest.Show(got)
	case wantError:
		return ""
	case gotError:
		return "error: " + arctest.Show(text)
	}
	return c.Diff(want, got, ignore...)
}

// layProject writes a scenario's files into an empty project folder.
func layProject(t *testing.T, v arctest.Vector) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	asText := func(x any) string {
		if s, ok := x.(string); ok {
			return s
		}
		b, err := canon.Compact(x)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if files, ok := v.Raw.Value("files").(*canon.Object); ok {
		for name, text := range files.All() {
			write(name, asText(text))
		}
	}
	if links, ok := v.Raw.Value("symlinks").(*canon.Object); ok {
		for name, target := range links.All() {
			full := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(canon.Text(target), full); err != nil {
				t.Fatal(err)
			}
		}
	}
	if settings := v.Raw.Value("settings"); settings != nil {
		b, err := canon.Compact(settings)
		if err != nil {
			t.Fatal(err)
		}
		write(".archcore/settings.json", string(b))
	}
	return dir
}

// checkAfter compares the files of a project with what the vector wants.
func checkAfter(v arctest.Vector, project string) string {
	after, ok := v.Raw.Value("after").(*canon.Object)
	if !ok {
		return ""
	}
	for name, rule := range after.All() {
		b, err := os.ReadFile(filepath.Join(project, name))
		o, _ := rule.(*canon.Object)
		if rule == nil || o != nil && o.Value("absent") == true {
			if err == nil {
				return name + ": should be gone"
			}
			continue
		}
		if err != nil {
			return name + ": no such file at the end"
		}
		if why := fileDiffers(name, string(b), rule, o); why != "" {
			return why
		}
	}
	return ""
}

func fileDiffers(name, text string, rule any, o *canon.Object) string {
	if s, ok := rule.(string); ok {
		o = canon.Obj("equals", s)
	}
	if want, ok := o.Value("equals").(string); ok && want != text {
		return fmt.Sprintf("%s: want %q, got %q", name, arctest.Clip(want), arctest.Clip(text))
	}
	for _, s := range textsOf(o.Value("contains")) {
		if !strings.Contains(text, s) {
			return fmt.Sprintf("%s: lacks %q", name, s)
		}
	}
	for _, s := range textsOf(o.Value("lacks")) {
		if strings.Contains(text, s) {
			return fmt.Sprintf("%s: should not hold %q", name, s)
		}
	}
	if counts, ok := o.Value("count").(*canon.Object); ok {
		for s, n := range counts.All() {
			if got := strings.Count(text, s); fmt.Sprint(got) != canon.Text(n) {
				return fmt.Sprintf("%s: want %v of %q, got %d", name, n, s, got)
			}
		}
	}
	return ""
}

// textsOf is a text, or an array of texts, as texts.
func textsOf(v any) []string {
	switch x := v.(type) {
	case string:
		return []string{x}
	case []any:
		out := make([]string, len(x))
		for i, e := range x {
			out[i] = canon.Text(e)
		}
		return out
	}
	return nil
}

// serverFor builds the server that arche mcp would with this environment.
func serverFor(t *testing.T, env map[string]string, project string) (*mcpserver.Server, func()) {
	t.Helper()
	opts := mcpserver.Options{PackVersion: env["ARCHE_PACK_VERSION"], Engine: env["ARCHE_ENGINE"]}
	if uri := env["ARCHE_LEDGER"]; uri != "" {
		l, err := ledger.Open(uri, ledger.Options{PackVersion: opts.PackVersion, Engine: opts.Engine})
		if err != nil {
			t.Fatal(err)
		}
		opts.Ledger = l
	}
	protect := mcpserver.ProtectFromEnv(func(name string) string { return env[name] })
	protect.Ledger = opts.Ledger
	opts.Protection = mcpserver.NewProtection(protect)
	base, err := documents.Open(documents.Options{Root: project, Ledger: opts.Ledger})
	if err != nil {
		t.Fatal(err)
	}
	opts.Documents = mcpserver.DocumentTools(base, hosts.Wirer{Root: project}, nil)
	return mcpserver.New(opts), func() {
		if err := base.Close(); err != nil {
			t.Errorf("close the knowledge base: %v", err)
		}
		if opts.Ledger != nil {
			if err := opts.Ledger.Close(); err != nil {
				t.Errorf("close the ledger: %v", err)
			}
		}
	}
}

// Package hosts writes this program into the configuration of coding agents:
// the MCP server entry, the hooks and a usage note, below one project's folder.
//
// It touches only what is ours: other servers, hooks, keys, comments and text
// stay byte for byte, a second run changes nothing, a file that cannot be
// understood is left alone, and a link is never followed out of the project.
// Wire does the work, or with DryRun only says what it would do.
package hosts

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/arche-ledger/arche/internal/canon"
)

//go:embed hosts.json
var hostsJSON []byte

//go:embed usage.md
var usageNote string

const (
	// serverID is the name the server is registered under. It is the published
	// program's, so that prompts and matchers that name its tools go on working.
	serverID = "archcore"
	// altServerID is a name people give the server by hand.
	altServerID = "arche"

	ownHooks       = "arche hooks "
	publishedHooks = "archcore hooks "
)

// host is what is known of one agent.
type host struct {
	id, name     string
	detect       []string // a file or folder of which one shows that the agent is used here
	mcp          *mcpTarget
	manualHint   string
	hooks        *hookTarget
	instructions []string // the first is the primary one
	legacy       string   // a file that older releases wrote
}

// mcpTarget is where an agent keeps its servers.
type mcpTarget struct {
	file, format, section string
	entry                 *canon.Object
}

// hookTarget is where an agent keeps its hooks.
type hookTarget struct {
	file    string
	version bool // the file must say "version": 1
	events  []hookEvent
}

type hookEvent struct {
	event string
	entry *canon.Object
}

var registry = loadHosts()

func loadHosts() []host {
	v, err := canon.Parse(hostsJSON, canon.Limits{})
	if err != nil {
		panic("hosts: embedded table: " + err.Error())
	}
	var out []host
	for _, x := range list(v) {
		h := host{id: str(x, "id"), name: str(x, "name"), manualHint: str(x, "manual_hint"), legacy: str(x, "legacy"),
			detect: strs(x.Value("detect")), instructions: strs(x.Value("instructions"))}
		if m := obj(x, "mcp"); m != nil {
			h.mcp = &mcpTarget{str(m, "file"), str(m, "format"), str(m, "section"), obj(m, "entry")}
		}
		if k := obj(x, "hooks"); k != nil {
			h.hooks = &hookTarget{file: str(k, "file"), version: k.Value("version") == true}
			for _, e := range list(k.Value("events")) {
				h.hooks.events = append(h.hooks.events, hookEvent{str(e, "event"), obj(e, "entry")})
			}
		}
		out = append(out, h)
	}
	return out
}

func list(v any) []*canon.Object {
	items, _ := v.([]any)
	var out []*canon.Object
	for _, i := range items {
		if o, ok := i.(*canon.Object); ok {
			out = append(out, o)
		}
	}
	return out
}

func strs(v any) []string {
	items, _ := v.([]any)
	var out []string
	for _, i := range items {
		if s, ok := i.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func str(o *canon.Object, key string) string        { s, _ := o.Value(key).(string); return s }
func obj(o *canon.Object, key string) *canon.Object { v, _ := o.Value(key).(*canon.Object); return v }
func isOwnCommand(c string) bool                    { return strings.HasPrefix(c, ownHooks) }
func isPublishedCommand(c string) bool              { return strings.HasPrefix(c, publishedHooks) }

// IDs are the agents that can be wired, in the order reports name them.
func IDs() []string {
	out := make([]string, 0, len(registry))
	for _, h := range registry {
		out = append(out, h.id)
	}
	return out
}

// Known reports whether id is an agent that can be wired.
func Known(id string) bool { return slices.Contains(IDs(), id) }

// File is a file that holds our content now.
type File struct {
	Path   string // relative to the project, with /
	Digest string // blake3: of its bytes
}

// Agent is what came of one agent.
type Agent struct {
	ID           string
	MCPPath      string
	ManualHint   string
	Hooks        bool
	Instructions string
	Extra        []string
	Errors       []string
	Notes        []string
	Files        []File
}

// Edit is a file that was, or with DryRun would be, changed.
type Edit struct {
	Path          string
	Before, After []byte // Before is nil for a new file, After for one taken away
}

// Report is what came of a run.
type Report struct {
	Agents []Agent
	Edits  []Edit
}

// Answer is the report as install_host_config sends it.
func (r *Report) Answer(initialised bool) *canon.Object {
	agents := []any{}
	for _, a := range r.Agents {
		o := canon.Obj("agent", a.ID)
		setText(o, "mcp_config_path", a.MCPPath)
		setText(o, "mcp_manual_hint", a.ManualHint)
		o.Set("hooks_supported", a.Hooks)
		setText(o, "instructions_path", a.Instructions)
		setTexts(o, "instructions_extra_paths", a.Extra)
		setTexts(o, "errors", a.Errors)
		setTexts(o, "notes", a.Notes)
		agents = append(agents, o)
	}
	return canon.Obj("archcore_initialized", initialised, "agents", agents)
}

func setText(o *canon.Object, key, s string) {
	if s != "" {
		o.Set(key, s)
	}
}

func setTexts(o *canon.Object, key string, s []string) {
	if len(s) > 0 {
		o.Set(key, s)
	}
}

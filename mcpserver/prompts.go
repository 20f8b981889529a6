package mcpserver

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompt is a piece of work that a person starts by name.
type prompt struct {
	prompt mcp.Prompt
	tool   string // the tool without which it makes no sense
	text   func(args map[string]string) string
}

var prompts = []prompt{
	{
		prompt: mcp.Prompt{
			Name: "review-open-cases", Title: "Review open cases",
			Description: "Go through the pairs that nothing has settled and find the evidence that would.",
			Arguments:   []*mcp.PromptArgument{{Name: "entity_type", Title: "Entity type", Description: "Only this pack's cases."}},
		},
		tool: "cases",
		text: func(a map[string]string) string {
			which := "Call `cases`."
			if a["entity_type"] != "" {
				which = fmt.Sprintf("Call `cases` with entity_type %q.", a["entity_type"])
			}
			return which + ` For each open case:
1. Read would_resolve: these fields would settle it, strongest first. Don't look for anything else.
2. Find the value of one of them for both records in sources you can name. Never guess one.
3. Hand what you found to ` + "`observe`" + `, one call a record, with the record_id of that side.
4. Read the new decision. When it is still review, say what is missing and go on.
End with a table: the pair by labels, what you found and where, the decision, and the cases that stay open.`
		},
	},
	{
		prompt: mcp.Prompt{
			Name: "explain-decision", Title: "Explain a decision",
			Description: "Tell somebody who was not there why two records were linked, held or kept apart.",
			Arguments:   []*mcp.PromptArgument{{Name: "decision_id", Title: "Decision id", Description: "xwd:sha256:... or dec:sha256:...", Required: true}},
		},
		tool: "explain",
		text: func(a map[string]string) string {
			return fmt.Sprintf("Call `decision`, `explain` and `replay` with decision_id %q. "+`Then tell in plain words:
- what was decided, about which records (by label), when, and under which pins;
- which fields spoke for it, which against it, and which were missing;
- whether it comes out the same today, and if not, what moved;
- whether it superseded another decision or was superseded.
Use field names only; the values are not yours to show.`, a["decision_id"])
		},
	},
	{
		prompt: mcp.Prompt{
			Name: "write-adr", Title: "Write a decision record",
			Description: "Turn a discussion into a decision record in the knowledge base, linked to what it touches.",
			Arguments:   []*mcp.PromptArgument{{Name: "title", Title: "Title", Description: "What was decided, in a few words.", Required: true}},
		},
		tool: "create_document",
		text: func(a map[string]string) string {
			return fmt.Sprintf("Write a decision record titled %q. "+`First call search_documents with the words of the title, so that you repeat nothing and know what it touches.
Then call create_document with type "adr": context (the forces, no solution yet), decision (one, in the active voice), alternatives with the reason each was not taken, consequences including the bad ones. Under a page.
Then call add_relation for each document it implements, extends, depends on, contradicts or supersedes. Ask me where you are not sure.`, a["title"])
		},
	},
}

// addPrompts registers the prompts whose tool is served.
func (s *Server) addPrompts() {
	for _, p := range prompts {
		if _, served := s.rank[p.tool]; !served {
			continue
		}
		s.mcp.AddPrompt(&p.prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			for _, arg := range p.prompt.Arguments {
				if arg.Required && strings.TrimSpace(req.Params.Arguments[arg.Name]) == "" {
					return nil, paramsError("argument %s is missing", arg.Name)
				}
			}
			return &mcp.GetPromptResult{
				Description: p.prompt.Description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: p.text(req.Params.Arguments)}}},
			}, nil
		})
	}
}

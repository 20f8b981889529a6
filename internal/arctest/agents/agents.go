// Package agents drives arche servers as agent hosts do: processes that speak
// MCP over standard input and output, each with a client of the public SDK.
// Begin with Start; AllAtOnce is the trial that a shared ledger must pass.
package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/zeebo/blake3"
)

// Server is a running server and the client that calls it.
type Server struct {
	session *mcp.ClientSession
	stderr  bytes.Buffer
}

// Start runs a server, for example `arche mcp`, and greets it.
func Start(ctx context.Context, cmd *exec.Cmd) (*Server, error) {
	s := &Server{}
	cmd.Stderr = &s.stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "arctest", Version: "1"}, nil)
	var err error
	if s.session, err = client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		return nil, fmt.Errorf("greet the server: %w; it said: %s", err, s.stderr.String())
	}
	return s, nil
}

// StartAll runs n servers.
func StartAll(ctx context.Context, n int, command func() (*exec.Cmd, error)) ([]*Server, error) {
	var out []*Server
	for range n {
		cmd, err := command()
		if err != nil {
			return nil, errors.Join(err, StopAll(out))
		}
		s, err := Start(ctx, cmd)
		if err != nil {
			return nil, errors.Join(err, StopAll(out))
		}
		out = append(out, s)
	}
	return out, nil
}

// Stop ends the session and the process.
func (s *Server) Stop() error { return s.session.Close() }

// StopAll stops every one.
func StopAll(all []*Server) error {
	var errs []error
	for _, s := range all {
		errs = append(errs, s.Stop())
	}
	return errors.Join(errs...)
}

// Raw calls a tool and returns the text of its answer. An answer that is an
// error comes as text and as one.
func (s *Server) Raw(ctx context.Context, tool string, args any) (string, error) {
	res, err := s.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", fmt.Errorf("%s: %w", tool, err)
	}
	text := ""
	if len(res.Content) > 0 {
		if t, ok := res.Content[0].(*mcp.TextContent); ok {
			text = t.Text
		}
	}
	if res.IsError {
		return text, fmt.Errorf("%s: %s", tool, text)
	}
	return text, nil
}

// Object is the answer as an object, nil when it is none.
func Object(raw string) map[string]any {
	var o map[string]any
	_ = json.Unmarshal([]byte(raw), &o) // nil says it
	return o
}

// Log is what the server said on standard error; ask after Stop.
func (s *Server) Log() string { return s.stderr.String() }

// Call calls a tool and reads its answer into out.
func (s *Server) Call(ctx context.Context, tool string, args, out any) error {
	text, err := s.Raw(ctx, tool, args)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	return nil
}

// Supplier is an organisation that has its number alone in common with others:
// the n-th of list a matches the n-th of list b and nothing else.
func Supplier(side string, n int) map[string]any {
	sum := blake3.Sum256(fmt.Append(nil, n))
	return map[string]any{"id": fmt.Sprintf("%s%d", side, n), "name": fmt.Sprintf("%x", sum[:6]), "registration_id": fmt.Sprintf("%x", sum[6:14])}
}

// Compare records the comparison of the n-th suppliers and returns the id of
// its decision.
func (s *Server) Compare(ctx context.Context, n int) (string, error) {
	var answer struct {
		Matches []struct {
			DecisionID string `json:"decision_id"`
		} `json:"matches"`
	}
	err := s.Call(ctx, "compare_records", map[string]any{
		"list_a": []any{Supplier("a", n)}, "list_b": []any{Supplier("b", n)}, "entity": "organisation",
	}, &answer)
	if err == nil && (len(answer.Matches) != 1 || answer.Matches[0].DecisionID == "") {
		err = fmt.Errorf("compare_records: %d matches with a decision, want 1", len(answer.Matches))
	}
	if err != nil {
		return "", err
	}
	return answer.Matches[0].DecisionID, nil
}

// Outcome is what came of calls made at once.
type Outcome struct {
	Sent     int
	Recorded int     // decisions with an id of their own
	SeeAll   int     // servers that answer for each of them and count each of them
	Errors   []error // of calls
	Took     time.Duration
}

// Whole is nil when every call was recorded and every server sees all.
func (o *Outcome) Whole(servers int) error {
	if len(o.Errors) > 0 || o.Recorded != o.Sent || o.SeeAll != servers {
		return fmt.Errorf("%d of %d calls are recorded, %d of %d servers see all: %w", o.Recorded, o.Sent, o.SeeAll, servers, errors.Join(o.Errors...))
	}
	return nil
}

// AllAtOnce sends every server its recorded comparisons at one moment, then asks
// each for what all of them recorded. The ledger must be new.
func AllAtOnce(ctx context.Context, servers []*Server, each int) *Outcome {
	o := &Outcome{Sent: len(servers) * each}
	ids := map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for p, s := range servers {
		for k := range each {
			wg.Go(func() {
				id, err := s.Compare(ctx, p*each+k)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					o.Errors = append(o.Errors, err)
				} else {
					ids[id] = true
				}
			})
		}
	}
	wg.Wait()
	o.Took, o.Recorded = time.Since(start), len(ids)
	for _, s := range servers {
		if err := s.sees(ctx, ids); err != nil {
			o.Errors = append(o.Errors, err)
		} else {
			o.SeeAll++
		}
	}
	return o
}

// sees reports whether a server answers for every decision and counts as many
// entities.
func (s *Server) sees(ctx context.Context, ids map[string]bool) error {
	for id := range ids {
		var d struct {
			DecisionID string `json:"decision_id"`
		}
		if err := s.Call(ctx, "decision", map[string]any{"decision_id": id}, &d); err != nil {
			return err
		}
		if d.DecisionID != id {
			return fmt.Errorf("decision: asked for %s and got %q", id, d.DecisionID)
		}
	}
	var list struct {
		Count int `json:"count"`
	}
	if err := s.Call(ctx, "entities", map[string]any{}, &list); err != nil {
		return err
	}
	if list.Count != len(ids) {
		return fmt.Errorf("entities: %d, want %d", list.Count, len(ids))
	}
	return nil
}

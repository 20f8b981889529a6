package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// terminalWidth is the width of the terminal that w is, 0 when it is none.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 20 {
		return 80
	}
	return width
}

// coloured reports whether w takes colours: a terminal, and nobody against it.
func (a *app) coloured(w io.Writer) bool {
	return !a.noColor && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb" && terminalWidth(w) > 0
}

// tint colours a verdict for standard output: what joins green, what is open
// yellow, what went wrong red.
func (a *app) tint(word string) string {
	if !a.coloured(a.stdout) {
		return word
	}
	code := ""
	switch word {
	case "match", "same_entity", "found", "true", "reproduced":
		code = "32"
	case "review", "ambiguous", "unsurfaced":
		code = "33"
	case "different", "conflict", "false", "changed":
		code = "31"
	default:
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// table prints rows in columns, two spaces apart. On a terminal the last column
// is cut at its width, by what a reader sees as characters.
func (a *app) table(rows [][]string) {
	widths := []int{}
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	limit := terminalWidth(a.stdout)
	var b strings.Builder
	for _, row := range rows {
		used := 0
		for i, cell := range row {
			if i == len(row)-1 {
				b.WriteString(a.tint(cut(cell, limit-used)))
				break
			}
			b.WriteString(a.tint(cell))
			b.WriteString(strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell)+2))
			used += widths[i] + 2
		}
		b.WriteByte('\n')
	}
	a.printf("%s", b.String())
}

// cut shortens s to at most width columns; a width of 0 or less cuts nothing.
func cut(s string, width int) string {
	if width <= 1 || uniseg.StringWidth(s) <= width {
		return s
	}
	var b strings.Builder
	used := 0
	for g := uniseg.NewGraphemes(s); g.Next(); {
		if used+g.Width() > width-1 {
			break
		}
		used += g.Width()
		b.WriteString(g.Str())
	}
	return b.String() + "…"
}

// progress shows how far a long command is, on a terminal's standard error only
// and not before half a second has gone by. The zero total is not known yet.
type progress struct {
	mu      sync.Mutex
	out     io.Writer
	what    string
	started time.Time
	last    time.Time
	shown   bool
}

const (
	progressAfter = 500 * time.Millisecond
	progressEvery = 100 * time.Millisecond
)

// progress starts a display; its stop takes the line away again.
func (a *app) progress(what string) *progress {
	p := &progress{what: what, started: time.Now()}
	if terminalWidth(a.stderr) > 0 {
		p.out = a.stderr
	}
	return p
}

// report may be called often and from any goroutine.
func (p *progress) report(done, total int64) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	spent := now.Sub(p.started)
	if spent < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	rate := float64(done) / spent.Seconds()
	line := fmt.Sprintf("%s %d", p.what, done)
	if total > 0 {
		line += fmt.Sprintf(" of %d (%d%%)", total, 100*done/total)
	}
	line += fmt.Sprintf(", %.0f a second", rate)
	if total > done && rate > 0 {
		line += ", " + (time.Duration(float64(total-done)/rate) * time.Second).Round(time.Second).String() + " left"
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", cut(line, terminalWidth(p.out)-1))
}

// stop ends the display.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.out = nil
}

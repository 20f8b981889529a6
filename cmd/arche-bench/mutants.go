package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is one small mistake: some bytes of a file are others.
type mutant struct {
	file     string // as it was given
	at       token.Position
	what     string // the operator and what it does, for people
	from, to int    // bytes of the file that are replaced
	text     string
}

// apply makes the mistake in the source.
func (m *mutant) apply(source []byte) []byte {
	return slices.Concat(source[:m.from], []byte(m.text), source[m.to:])
}

// mutator finds the places of one file.
type mutator struct {
	fset   *token.FileSet
	file   string
	source []byte
	out    []mutant
	errors []bool // of the functions around a place: whether the last result is an error
	// idle are parts that nothing depends on: values returned beside an error, and
	// how much room a list or map is made with. A mistake there is none.
	idle map[ast.Node]bool
}

// mutants lists every mistake that the operators make of a Go file, in the order
// of its places: conditions negated, comparisons and connectives exchanged,
// statements left out, whole numbers one higher, answers turned round, errors not
// returned.
func mutants(file string, source []byte) ([]mutant, error) {
	m := &mutator{fset: token.NewFileSet(), file: file, source: source, idle: map[ast.Node]bool{}}
	tree, err := parser.ParseFile(m.fset, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				m.function(d.Type, d.Body)
			}
		case *ast.GenDecl:
			if d.Tok == token.CONST || d.Tok == token.VAR {
				ast.Inspect(d, m.look)
			}
		}
	}
	slices.SortStableFunc(m.out, func(a, b mutant) int { return a.from - b.from })
	return m.out, nil
}

func (m *mutator) function(t *ast.FuncType, body *ast.BlockStmt) {
	last := false
	if t.Results != nil && len(t.Results.List) > 0 {
		id, ok := t.Results.List[len(t.Results.List)-1].Type.(*ast.Ident)
		last = ok && id.Name == "error"
	}
	m.errors = append(m.errors, last)
	ast.Inspect(body, m.look)
	m.errors = m.errors[:len(m.errors)-1]
}

// room notes the capacities of a make.
func (m *mutator) room(c *ast.CallExpr) {
	if id, ok := c.Fun.(*ast.Ident); !ok || id.Name != "make" {
		return
	}
	from := 2
	if _, ok := c.Args[0].(*ast.MapType); ok {
		from = 1
	}
	for _, a := range c.Args[min(from, len(c.Args)):] {
		m.idle[a] = true
	}
}

// failed notes what is returned beside an error that is known to be there.
func (m *mutator) failed(s *ast.IfStmt) {
	b, ok := s.Cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ || m.text(b.Y) != "nil" {
		return
	}
	for _, x := range s.Body.List {
		if r, ok := x.(*ast.ReturnStmt); ok && len(r.Results) > 1 {
			if m.text(r.Results[len(r.Results)-1]) == m.text(b.X) {
				m.beside(r)
			}
		}
	}
}

// fresh reports whether an expression makes an error, so that it is never nil.
func (m *mutator) fresh(e ast.Expr) bool {
	text := m.text(e)
	for _, maker := range []string{"errors.New(", "fmt.Errorf(", "fault.New(", "fault.Wrap("} {
		if strings.HasPrefix(text, maker) {
			return true
		}
	}
	return false
}

func (m *mutator) beside(r *ast.ReturnStmt) {
	for _, e := range r.Results[:len(r.Results)-1] {
		m.idle[e] = true
	}
}

// exchanged is what each operator becomes.
var exchanged = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
}

// look makes the mutants of one node; what is below it comes after.
func (m *mutator) look(n ast.Node) bool {
	if m.idle[n] {
		return false
	}
	switch n := n.(type) {
	case *ast.CallExpr:
		m.room(n)
	case *ast.FuncLit:
		m.function(n.Type, n.Body)
		return false
	case *ast.IfStmt:
		m.failed(n)
		m.replace("negate a condition", n.Cond.Pos(), n.Cond.End(), "!("+m.text(n.Cond)+")")
	case *ast.ForStmt:
		if n.Cond != nil {
			m.replace("never enter a loop", n.Cond.Pos(), n.Cond.End(), "false && ("+m.text(n.Cond)+")")
		}
	case *ast.BinaryExpr:
		if other, ok := exchanged[n.Op]; ok {
			m.replace(fmt.Sprintf("%s for %s", other, n.Op), n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
		}
	case *ast.BasicLit:
		if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil && n.Kind == token.INT {
			m.replace("one more", n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
		}
	case *ast.ReturnStmt:
		if k := len(n.Results); k > 1 && m.fresh(n.Results[k-1]) {
			m.beside(n)
		}
		m.answers(n)
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
	}
	return true
}

// statements leaves out calls and assignments, one at a time.
func (m *mutator) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt, *ast.IncDecStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE || blank(s.Lhs) {
				continue
			}
		case *ast.DeferStmt, *ast.BranchStmt:
		default:
			continue
		}
		m.replace("leave out a statement", s.Pos(), s.End(), "")
	}
}

func blank(list []ast.Expr) bool {
	for _, e := range list {
		if id, ok := e.(*ast.Ident); !ok || id.Name != "_" {
			return false
		}
	}
	return true
}

// answers turns truths round and forgets errors.
func (m *mutator) answers(r *ast.ReturnStmt) {
	for i, e := range r.Results {
		if m.idle[e] {
			continue
		}
		id, named := e.(*ast.Ident)
		switch {
		case named && id.Name == "true":
			m.replace("false for true", e.Pos(), e.End(), "false")
		case named && id.Name == "false":
			m.replace("true for false", e.Pos(), e.End(), "true")
		case i == len(r.Results)-1 && m.errors[len(m.errors)-1] && !(named && id.Name == "nil"):
			m.replace("forget an error", e.Pos(), e.End(), "nil")
		}
	}
}

func (m *mutator) text(n ast.Node) string {
	return string(m.source[m.fset.Position(n.Pos()).Offset:m.fset.Position(n.End()).Offset])
}

func (m *mutator) replace(what string, from, to token.Pos, text string) {
	at := m.fset.Position(from)
	at.Filename = filepath.Base(at.Filename)
	m.out = append(m.out, mutant{m.file, at, what, m.fset.Position(from).Offset, m.fset.Position(to).Offset, text})
}

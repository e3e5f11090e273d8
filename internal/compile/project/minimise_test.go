package project

import (
	"cmp"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// span is a piece of a text.
type span struct{ from, to int }

func (s span) cut(text []byte, with string) []byte {
	return slices.Concat(text[:s.from], []byte(with), text[s.to:])
}

// minimised leaves statements out of a loop for as long as a shorter one fails. Every round
// tries all of them at once.
func minimised(f *analyze.Frame, source []byte, fails func([][]byte) []bool) []byte {
	for range 40 {
		list := shorter(f, source)
		slices.SortFunc(list, func(a, b []byte) int { return cmp.Compare(len(a), len(b)) })
		i := slices.Index(fails(list), true)
		if i < 0 {
			break
		}
		source = list[i]
	}
	return source
}

// blank is a line of which nothing is left.
var blank = regexp.MustCompile(`(?m)^[ \t]+\n`)

// shorter returns the loops that one statement less makes, one declaration, or the
// header of a loop or branch, and without what nobody needs then.
func shorter(f *analyze.Frame, source []byte) (out [][]byte) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, 0)
	if err != nil {
		return nil
	}
	at := func(n ast.Node) span { return span{fset.Position(n.Pos()).Offset, fset.Position(n.End()).Offset} }
	try := func(text []byte) {
		if text = cleaned(f, blank.ReplaceAll(text, nil)); text != nil {
			out = append(out, text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.Field, *ast.FuncDecl, *ast.GenDecl:
			try(at(n).cut(source, ""))
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		}
		for _, s := range list {
			try(at(s).cut(source, ""))
			var body *ast.BlockStmt
			switch s := s.(type) {
			case *ast.IfStmt:
				body = s.Body
			case *ast.RangeStmt:
				body = s.Body
			}
			if body != nil {
				try(at(s).cut(source, string(source[at(body).from+1:at(body).to-1])))
			}
		}
		return true
	})
	return out
}

// cleaned returns a loop without what it declares and does not use, nil if it is none.
func cleaned(f *analyze.Frame, text []byte) []byte {
	for range 30 {
		unused, err := f.Unused(map[string][]byte{"random.go": text})
		if err != nil {
			return nil
		}
		if len(unused) == 0 {
			out, err := format.Source(text)
			if err != nil {
				return nil
			}
			return out
		}
		if text = unless(text, unused[0].Offset); text == nil {
			return nil
		}
	}
	return nil
}

// unless takes away the declaration at an offset: an import's or a variable's.
func unless(text []byte, at int) []byte {
	from := strings.LastIndexByte(string(text[:at]), '\n') + 1
	to := at + strings.IndexByte(string(text[at:]), '\n')
	line := strings.TrimSpace(string(text[from:to]))
	left, right, _ := strings.Cut(line, ":= ")
	switch {
	case strings.HasPrefix(line, "for "):
		return span{from, to}.cut(text, "for "+right)
	case strings.Contains(left, ","):
		name := strings.TrimRight(string(text[at:min(at+20, to)]), " ")
		end := strings.IndexAny(name, ", :")
		if end < 0 {
			return nil
		}
		return span{at, at + end}.cut(text, "_")
	case strings.HasSuffix(line, "{"):
		return nil
	}
	return span{from, to}.cut(text, "")
}

// TestMinimised: what makes a loop fail is left, and little else.
func TestMinimised(t *testing.T) {
	f := randomFrame(t)
	source := grown(3)
	was := strings.Count(string(source), "\n")
	const needed = "t.Env.Step("
	got := minimised(f, source, func(list [][]byte) []bool {
		out := make([]bool, len(list))
		for i, text := range list {
			out[i] = strings.Contains(string(text), needed)
		}
		return out
	})
	if n := strings.Count(string(got), "\n"); !strings.Contains(string(got), needed) || n > 60 {
		t.Errorf("of %d lines %d are left:\n%s", was, n, got)
	}
}

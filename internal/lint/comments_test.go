package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// columns is how wide a comment may be, a tab counting as four.
const columns = 100

// TestComments: what stands above a function says what it does, with a verb, and not what it "is";
// comments fit into columns.
func TestComments(t *testing.T) {
	root, files := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git") || d.Name() == "runs") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasPrefix(d.Name(), "gen_") || d.Name() == "example_test.go" { // whose comments are outputs
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(f) {
			return err
		}
		files++
		for _, complaint := range comments(fset, f) {
			t.Error(complaint)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 200 {
		t.Fatalf("only %d files were read: is %s the root of the module?", files, root)
	}
}

// comments returns what is wrong with the comments of a file.
func comments(fset *token.FileSet, f *ast.File) (out []string) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Doc == nil {
			continue
		}
		if is := regexp.MustCompile(`^// ` + fn.Name.Name + ` (is|are) `); is.MatchString(fn.Doc.List[0].Text) {
			out = append(out, fset.Position(fn.Doc.Pos()).String()+": say what "+fn.Name.Name+" does, with a verb: returns, reports whether, writes, ...")
		}
	}
	for _, g := range f.Comments {
		for _, c := range g.List {
			at := fset.Position(c.Pos())
			words := strings.Fields(c.Text)
			if width := 4*(at.Column-1) + utf8.RuneCountInString(c.Text); at.Column < 6 && width > columns && len(words) > 3 && strings.HasPrefix(c.Text, "// ") {
				out = append(out, at.String()+": the comment is wider than 100 columns")
			}
		}
	}
	return out
}

// TestCommentsRefuse shows that the rule refuses what it is there to refuse.
func TestCommentsRefuse(t *testing.T) {
	for source, want := range map[string]int{
		"package x\n\n// f is the sum.\nfunc f() {}\n":                                1,
		"package x\n\n// f is the sum.\nfunc g() {}\n":                                0,
		"package x\n\n// f returns the sum.\nfunc f() {}\n":                           0,
		"package x\n\n// T is a type.\ntype T int\n":                                  0,
		"package x\n\n// f are sums.\nfunc f() {}\n":                                  1,
		"package x\n\n// " + strings.Repeat("word ", 20) + "\nfunc f() {}\n":          1,
		"package x\n\n// see https://" + strings.Repeat("x", 120) + "\nfunc f() {}\n": 0,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x.go", source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := comments(fset, f); len(got) != want {
			t.Errorf("%q: %d complaints %v, want %d", source, len(got), got, want)
		}
	}
}

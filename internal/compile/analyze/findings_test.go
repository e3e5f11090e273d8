package analyze

import (
	"context"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFindings: every fixture has exactly the findings that its want comments
// ask for, in their lines.
func TestFindings(t *testing.T) {
	dirs := folders("testdata/src/findings/*")
	var patterns []string
	for _, d := range dirs {
		patterns = append(patterns, "./"+d)
	}
	results, err := Analyze(context.Background(), ".", patterns...)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(dirs) || len(dirs) < 40 {
		t.Fatalf("%d results of %d fixtures", len(results), len(dirs))
	}
	for _, r := range results {
		t.Run(filepath.Base(r.Package), func(t *testing.T) { expect(t, r) })
	}
}

// want is an expectation: what a finding in a line must look like.
type want struct {
	line int
	re   *regexp.Regexp
}

func expect(t *testing.T, r Result) {
	file := filepath.Join("testdata/src/findings", filepath.Base(r.Package), filepath.Base(r.Package)+".go")
	wants := readWants(t, file)
	if len(wants) == 0 {
		t.Error("the fixture expects nothing")
	}
	if r.Graph != nil && len(r.Errors()) > 0 {
		t.Error("there is a graph in spite of findings")
	}
	for _, f := range r.Findings {
		text := strings.TrimPrefix(f.String(), f.Pos.String()+": ")
		i := slices.IndexFunc(wants, func(w want) bool { return w.line == f.Pos.Line && w.re.MatchString(text) })
		if i < 0 {
			t.Errorf("unexpected: %s", f)
			continue
		}
		if f.Instead == "" && !f.Note {
			t.Errorf("it does not say what to write instead: %s", f)
		}
		wants = slices.Delete(wants, i, i+1)
	}
	for _, w := range wants {
		t.Errorf("%s:%d: nothing matches %s", file, w.line, w.re)
	}
}

var backquoted = regexp.MustCompile("`[^`]*`")

// readWants finds the comments of the form // want `regular expression` ...
func readWants(t *testing.T, file string) (out []want) {
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	f := fset.AddFile(file, -1, len(src))
	var s scanner.Scanner
	s.Init(f, src, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return out
		}
		_, list, ok := strings.Cut(text, "// want ")
		if tok != token.COMMENT || !ok {
			continue
		}
		for _, q := range backquoted.FindAllString(list, -1) {
			out = append(out, want{fset.Position(pos).Line, regexp.MustCompile(strings.Trim(q, "`"))})
		}
	}
}

package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPages: the prose of pages fits into columns. Tables, pictures and code do not wrap.
func TestPages(t *testing.T) {
	root, pages := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git") || d.Name() == "runs") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(file) != ".md" || d.Name() == "CHANGELOG.md" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		pages++
		for _, line := range wide(string(text)) {
			t.Errorf("%s: wider than %d columns: %s", file, columns, line)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 20 {
		t.Fatalf("only %d pages were read: is %s the root of the module?", pages, root)
	}
}

// wide returns the lines of a page's prose that are too wide. What tests write, between comments,
// is not prose.
func wide(page string) (out []string) {
	code, written := false, false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			code = !code
		case strings.HasPrefix(line, "<!-- "):
			written = line != "<!-- end -->"
		}
		if !code && !written && utf8.RuneCountInString(line) > columns && !strings.HasPrefix(line, "|") && !strings.HasPrefix(line, "![") {
			out = append(out, line)
		}
	}
	return out
}

func TestWide(t *testing.T) {
	long := strings.Repeat("x", columns+1)
	if got := wide("short\n" + long + "\n| " + long + "\n![" + long + "\n```\n" + long + "\n```\n"); len(got) != 1 || got[0] != long {
		t.Errorf("found %q, want the second line alone", got)
	}
}

package analyze

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// loops returns the accepted ones: real algorithms, and fixtures.
func loops() []string {
	return append(folders("../../../algo/*/"), folders("testdata/src/loops/*")...)
}

// accepted lists those loops, and fixtures that are not run: a run takes one way of many.
func accepted() []string { return append(loops(), folders("testdata/src/accepted/*")...) }

// everything returns those, and what there are findings about.
func everything() []string { return append(accepted(), folders("testdata/src/findings/*")...) }

// folders returns those of a pattern. One that matches nothing leaves its tests with
// nothing, which they notice.
func folders(pattern string) []string {
	dirs, _ := filepath.Glob(pattern) // there is an error only for what is no pattern
	return dirs
}

// label names a loop's golden files: algorithms and fixtures of one name apart.
func label(pkg string) string {
	if path.Dir(pkg) == module+"/algo" {
		return "algo-" + path.Base(pkg)
	}
	return path.Base(pkg)
}

// fixture reports whether a loop is one of the tests'. The graphs of algorithms are checked in with
// their programs, and have no golden files.
func fixture(label string) bool { return !strings.HasPrefix(label, "algo-") }

// TestGraphs: every accepted loop has the graph that was looked at, and it keeps
// the promises of package fdg.
func TestGraphs(t *testing.T) {
	var patterns []string
	for _, dir := range accepted() {
		patterns = append(patterns, "./"+dir)
	}
	results, err := Analyze(context.Background(), ".", patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		name := label(r.Package)
		t.Run(name, func(t *testing.T) {
			for _, f := range r.Errors() {
				t.Error(f)
			}
			if r.Graph == nil {
				t.Fatal("no graph")
			}
			if err := r.Graph.Check(); err != nil {
				t.Error(err)
			}
			if fixture(name) {
				golden(t, filepath.Join("testdata", "golden", name+".txt"), []byte(r.Graph.String()))
			}
		})
	}
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at it and run go test -update:\n%s", file, got)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestUpToDate: the files checked in are what the generator writes.
func TestUpToDate(t *testing.T) {
	dir := t.TempDir()
	generate(dir)
	files, err := filepath.Glob(filepath.Join(dir, "gen_*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("nothing generated: %v", err)
	}
	for _, f := range files {
		want, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", filepath.Base(f)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale (%v): run go generate", filepath.Base(f), err)
		}
	}
}

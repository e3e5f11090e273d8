package main

import (
	"bytes"
	"os"
	"testing"
)

// TestUpToDate: the file checked in is what the generator writes.
func TestUpToDate(t *testing.T) {
	want, err := methods()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../gen_methods.go")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("gen_methods.go is stale (%v): run go generate ./engine/record", err)
	}
}

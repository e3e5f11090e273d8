package store_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/internal/run/store/storetest"
)

func TestFolder(t *testing.T) {
	for name, test := range map[string]func(*testing.T, store.Store){"contract": storetest.Contract, "names": storetest.Names, "whole": storetest.Whole} {
		t.Run(name, func(t *testing.T) { test(t, store.Folder(filepath.Join(t.TempDir(), "new"))) })
	}
}

// TestUnregistered: a store that this program was not linked with is an error that says which
// import is missing.
func TestUnregistered(t *testing.T) {
	_, err := store.Open("s3://host/bucket")
	if err == nil || !strings.Contains(err.Error(), `import _ "github.com/weft-rl/weft/app/s3"`) {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := store.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Put(t.Context(), "x", strings.NewReader(""), 0); err == nil {
		t.Error("a file was a folder")
	}
}

// What a process that died had begun to write goes, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := store.Folder(dir)
	storetest.Put(t, s, "step-1", []byte("x"))
	for _, name := range []string{"step-2.0000abcd.part", "step-3.0000abcd.part"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.(store.Sweeper).Sweep(t.Context(), func(name string) bool { return name == "step-1" || name == "step-2" }); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 || left[0].Name() != "step-1" || left[1].Name() != "step-3.0000abcd.part" {
		t.Errorf("%v are left, %v", left, err)
	}
}

// A full disk is an error that trying again does not help against; others may pass.
func TestLasting(t *testing.T) {
	for _, c := range []struct {
		why  error
		want bool
	}{{syscall.ENOSPC, true}, {syscall.EROFS, true}, {fs.ErrPermission, true}, {syscall.EIO, false}, {context.Canceled, false}} {
		err := store.Folder(t.TempDir()).Put(t.Context(), "x", iotest.ErrReader(&fs.PathError{Op: "write", Path: "x", Err: c.why}), 5)
		var e interface{ Permanent() bool }
		if !errors.Is(err, c.why) || errors.As(err, &e) != c.want || c.want && !e.Permanent() {
			t.Errorf("%v: %v", c.why, err)
		}
	}
}

package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// kinds are all kinds of store, each empty.
func kinds(t *testing.T) map[string]Store {
	s3, _ := serve(t)
	return map[string]Store{"folder": Folder(filepath.Join(t.TempDir(), "new")), "s3": s3}
}

func put(t *testing.T, s Store, name string, body []byte) {
	t.Helper()
	if err := s.Put(t.Context(), name, bytes.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s Store, name string) []byte {
	t.Helper()
	r, size, err := s.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil || int64(len(b)) != size {
		t.Fatalf("%s: %d of %d bytes, %v", name, len(b), size, err)
	}
	return b
}

func TestStore(t *testing.T) {
	for kind, s := range kinds(t) {
		t.Run(kind, func(t *testing.T) { contract(t, s) })
	}
}

// contract is what every store does.
func contract(t *testing.T, s Store) {
	if names, err := s.List(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("a new store has %v, %v", names, err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	run := s.Under("run 1")
	put(t, run, "step-2", large)
	put(t, run, "step-1", nil)
	put(t, run, "step-1", []byte("x"))
	put(t, s.Under("run 2"), "step-9", []byte("y"))
	if !bytes.Equal(get(t, run, "step-2"), large) || string(get(t, s, "run 1/step-1")) != "x" {
		t.Error("what was put is not what is there")
	}
	names, err := run.List(t.Context())
	if err != nil || !slices.Equal(names, []string{"step-1", "step-2"}) {
		t.Errorf("%v, %v", names, err)
	}
	for range 2 {
		if err := run.Delete(t.Context(), "step-1"); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := run.Get(t.Context(), "step-1"); !errors.Is(err, ErrNone) {
		t.Errorf("a removed object: %v", err)
	}
}

func TestNames(t *testing.T) {
	for kind, s := range kinds(t) {
		for _, name := range []string{"", ".", "..", "../x", "/x", "a/../b", "a//b", `a\b`} {
			if err := s.Put(t.Context(), name, strings.NewReader(""), 0); err == nil {
				t.Errorf("%s: %q was a name", kind, name)
			}
			if _, _, err := s.Get(t.Context(), name); err == nil {
				t.Errorf("%s: %q was read", kind, name)
			}
			if err := s.Delete(t.Context(), name); err == nil {
				t.Errorf("%s: %q was removed", kind, name)
			}
		}
	}
}

// TestWhole: what could not be written whole is not there, and what was there stays.
func TestWhole(t *testing.T) {
	for kind, s := range kinds(t) {
		t.Run(kind, func(t *testing.T) { whole(t, s) })
	}
}

func whole(t *testing.T, s Store) {
	put(t, s, "x", []byte("old"))
	for name, r := range map[string]io.Reader{"short": strings.NewReader("ne"), "failing": io.MultiReader(strings.NewReader("ne"), failing{})} {
		if err := s.Put(t.Context(), "x", r, 3); err == nil {
			t.Errorf("%s was put", name)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Put(ctx, "x", strings.NewReader("new"), 3); err == nil {
		t.Errorf("it was put though nobody wants it")
	}
	if got := string(get(t, s, "x")); got != "old" {
		t.Errorf("%q is there", got)
	}
	if names, err := s.List(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("it fails") }

func TestRefused(t *testing.T) {
	s, f := serve(t)
	f.broken = true
	if err := s.Put(t.Context(), "x", strings.NewReader("y"), 1); err == nil || !strings.Contains(err.Error(), "bucket: x") {
		t.Error(err)
	}
	for _, place := range []string{"s3://", "s3://host", "s3:///bucket", "s3://a b/c"} {
		if _, err := Open(place); err == nil {
			t.Errorf("%s was opened", place)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Put(t.Context(), "x", strings.NewReader(""), 0); err == nil {
		t.Error("a file was a folder")
	}
}

// The region that requests are signed for is the environment's, or the server's.
func TestRegion(t *testing.T) {
	for _, region := range []string{"", "eu-north-9"} {
		t.Setenv("AWS_REGION", region)
		s, f := serve(t)
		put(t, s, "x", []byte("y"))
		if want := cmp.Or(region, "us-east-1"); !strings.Contains(f.signed, "/"+want+"/s3/") {
			t.Errorf("signed with %s, want %s", f.signed, want)
		}
	}
}

// What a process that died had begun to write goes, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := Folder(dir)
	put(t, s, "step-1", []byte("x"))
	for _, name := range []string{"step-2.0000abcd.part", "step-3.0000abcd.part"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.(Sweeper).Sweep(t.Context(), func(name string) bool { return name == "step-1" || name == "step-2" }); err != nil {
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
		err := Folder(t.TempDir()).Put(t.Context(), "x", iotest.ErrReader(&fs.PathError{Op: "write", Path: "x", Err: c.why}), 5)
		var e interface{ Permanent() bool }
		if !errors.Is(err, c.why) || errors.As(err, &e) != c.want || c.want && !e.Permanent() {
			t.Errorf("%v: %v", c.why, err)
		}
	}
}

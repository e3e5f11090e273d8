// Package storetest shows that a store does what stores promise.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/run/store"
)

// Put keeps an object, or fails the test.
func Put(t *testing.T, s store.Store, name string, body []byte) {
	t.Helper()
	if err := s.Put(t.Context(), name, bytes.NewReader(body), int64(len(body))); err != nil {
		t.Fatal(err)
	}
}

// Get reads an object, or fails the test.
func Get(t *testing.T, s store.Store, name string) []byte {
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

// Contract tests an empty store: what is put is there, listed, replaced and removed.
func Contract(t *testing.T, s store.Store) {
	if names, err := s.List(t.Context()); err != nil || len(names) > 0 {
		t.Errorf("a new store has %v, %v", names, err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	run := s.Under("run 1")
	Put(t, run, "step-2", large)
	Put(t, run, "step-1", nil)
	Put(t, run, "step-1", []byte("x"))
	Put(t, s.Under("run 2"), "step-9", []byte("y"))
	if !bytes.Equal(Get(t, run, "step-2"), large) || string(Get(t, s, "run 1/step-1")) != "x" {
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
	if _, _, err := run.Get(t.Context(), "step-1"); !errors.Is(err, store.ErrNone) {
		t.Errorf("a removed object: %v", err)
	}
}

// Names tests that names which could lead elsewhere are refused.
func Names(t *testing.T, s store.Store) {
	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../b", "a//b", `a\b`} {
		if err := s.Put(t.Context(), name, strings.NewReader(""), 0); err == nil {
			t.Errorf("%q was a name", name)
		}
		if _, _, err := s.Get(t.Context(), name); err == nil {
			t.Errorf("%q was read", name)
		}
		if err := s.Delete(t.Context(), name); err == nil {
			t.Errorf("%q was removed", name)
		}
	}
}

// Whole tests an empty store: what could not be written whole is not there, and what was there
// stays.
func Whole(t *testing.T, s store.Store) {
	Put(t, s, "x", []byte("old"))
	for name, r := range map[string]io.Reader{"short": strings.NewReader("ne"), "failing": io.MultiReader(strings.NewReader("ne"), failing{})} {
		if err := s.Put(t.Context(), "x", r, 3); err == nil {
			t.Errorf("%s was put", name)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Put(ctx, "x", strings.NewReader("new"), 3); err == nil {
		t.Errorf("an object was stored although its context had ended")
	}
	if got := string(Get(t, s, "x")); got != "old" {
		t.Errorf("%q is there", got)
	}
	if names, err := s.List(t.Context()); err != nil || len(names) != 1 {
		t.Errorf("%v, %v", names, err)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("it fails") }

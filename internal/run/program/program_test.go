package program_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/program"
)

// elf returns the text of a program for linux/amd64, so far as its header tells.
func elf(text string) []byte {
	head := make([]byte, 20)
	copy(head, "\x7fELF\x02\x01\x01")
	head[16], head[18] = 2, 62
	return append(head, text...)
}

func describe(data []byte) part.Program {
	sum := sha256.Sum256(data)
	return part.Program{Platform: "linux/amd64", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
}

func folder(t *testing.T) *program.Folder {
	return &program.Folder{Path: filepath.Join(t.TempDir(), "programs"), Most: 1000, All: 2500}
}

func put(t *testing.T, f *program.Folder, data []byte) part.Program {
	t.Helper()
	p := describe(data)
	if err := f.Put(t.Context(), p, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	return p
}

// files returns the names of all files in a folder.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range all {
		out = append(out, x.Name())
	}
	return out
}

// TestFolder: a program is found, can be run by its owner alone, and is what was put there.
func TestFolder(t *testing.T) {
	f := folder(t)
	p := put(t, f, elf("one"))
	path, err := f.Find(p)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if is, err := program.Of(path); err != nil || is != p {
		t.Errorf("%+v, %v, want %+v", is, err, p)
	}
	if !f.Has(p) || f.Has(describe(elf("two"))) {
		t.Error("it does not know what it has")
	}
}

// TestDamaged: a program that was damaged where it is kept is not run, and is removed.
func TestDamaged(t *testing.T) {
	f := folder(t)
	p := put(t, f, elf("one"))
	path, err := f.Find(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{elf("two"), elf("on"), []byte("no program at all, nor large")} {
		if err := errors.Join(os.Chmod(path, 0o700), os.WriteFile(path, data, 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Find(p); !errors.Is(err, program.ErrNone) {
			t.Errorf("%q: %v", data, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%q is still there", data)
		}
		put(t, f, elf("one"))
	}
}

// TestRefused: what is not the program that was announced is not kept, and nothing is left of it.
func TestRefused(t *testing.T) {
	good := elf("the program")
	arm := slices.Clone(good)
	arm[18] = 183
	object := slices.Clone(good)
	object[16] = 1
	script := []byte("#!/bin/sh\nexec something else\n")
	for name, c := range map[string]struct {
		p    part.Program
		data []byte
		want string
	}{
		"truncated":     {describe(good), good[:25], "it ends after 25 of 31 bytes"},
		"longer":        {describe(good), append(slices.Clone(good), '!'), "larger than the 31 bytes"},
		"another":       {describe(good), elf("old version"), "its hash is "},
		"platform":      {describe(arm), arm, "it is a program for linux/arm64, not for linux/amd64"},
		"script":        {describe(script), script, "neither as an ELF nor as a Mach-O"},
		"object":        {describe(object), object, "not an executable"},
		"large":         {describe(elf(strings.Repeat("x", 2000))), nil, "the limit is"},
		"empty":         {part.Program{Platform: "linux/amd64", SHA256: describe(nil).SHA256}, nil, "has 0 bytes"},
		"path":          {part.Program{Platform: "linux/amd64", SHA256: "../../etc/passwd", Size: 1}, nil, "is not the SHA-256"},
		"no platform":   {part.Program{Platform: "linux", SHA256: describe(good).SHA256, Size: 1}, nil, "is not a platform"},
		"end of header": {describe(good[:10]), good[:10], "neither as an ELF"},
	} {
		t.Run(name, func(t *testing.T) {
			f := folder(t)
			if err := os.MkdirAll(f.Path, 0o700); err != nil {
				t.Fatal(err)
			}
			err := f.Put(t.Context(), c.p, bytes.NewReader(c.data))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if left := files(t, f.Path); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestCancelled: a program whose transfer is given up is not there.
func TestCancelled(t *testing.T) {
	f := folder(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Put(ctx, describe(elf("x")), bytes.NewReader(elf("x"))); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left := files(t, f.Path); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// TestRoom: programs leave in the order of their last use, but for those that stay; what a writer
// that was killed has left goes too, and files of others do not.
func TestRoom(t *testing.T) {
	f := folder(t)
	var all []part.Program
	for i, name := range []string{"a", "b", "c"} {
		p := put(t, f, elf(strings.Repeat(name, 780)))
		all = append(all, p)
		old := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(f.Path, p.SHA256), old, old); err != nil {
			t.Fatal(err)
		}
	}
	part, theirs := filepath.Join(f.Path, ".dead-1.part"), filepath.Join(f.Path, "weft-0123")
	long := time.Now().Add(-2 * time.Hour)
	for _, path := range []string{part, theirs} {
		if err := errors.Join(os.WriteFile(path, make([]byte, 5000), 0o600), os.Chtimes(path, long, long)); err != nil {
			t.Fatal(err)
		}
	}
	f.Keep = func(hash string) bool { return hash == all[0].SHA256 }
	if _, err := f.Find(all[1]); err != nil { // which is used now
		t.Fatal(err)
	}
	d := put(t, f, elf(strings.Repeat("d", 780)))
	want := []string{all[0].SHA256, all[1].SHA256, d.SHA256, "weft-0123"}
	slices.Sort(want)
	if got := files(t, f.Path); !slices.Equal(got, want) {
		t.Errorf("it has %q, want %q", got, want)
	}
	f.Keep = func(string) bool { return true }
	big := elf(strings.Repeat("e", 780))
	if err := f.Put(t.Context(), describe(big), bytes.NewReader(big)); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Error(err)
	}
}

// TestOwn: this very test is a program of this platform.
func TestOwn(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := program.Of(path); err != nil || p.Platform != part.Platform() {
		t.Errorf("%+v, %v", p, err)
	}
}

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// newer returns another program that does the same: the hash of its file differs.
func newer(t *testing.T) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "weft")
	if err := os.WriteFile(path, append(text, '\n'), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestUpgrade replaces all workers of a synchronous run by those of another program while it goes
// on: two are started beside the old ones, which then leave, one as weft drain asks and one by
// SIGTERM. The run ends in the bits of one that nothing happened to, and does no step twice.
func TestUpgrade(t *testing.T) {
	all, program := newCluster(t), newer(t)
	all.join("a")
	b := all.join("b")
	p := start(t, all.dir, split("--cluster", all.at, "--workers", "2", "--checkpoint-steps", "1000000", "--out", "mine")...)
	if !p.until(`"iteration"`, 3) {
		t.Fatal(p.stderr.String())
	}
	for _, name := range []string{"x", "y"} {
		w := begin(t, all.dir, program, "worker", "--join", all.at, "--name", name, "--devices", "cpu", "--store", "store", "--json")
		if !w.until("joined", 1) {
			t.Fatal(w.stderr.String())
		}
		all.drain(w)
	}
	if last, _ := do(t, all.dir, 0, "drain", "a", "--cluster", all.at); last != "worker a has left" {
		t.Errorf("weft drain says %q", last)
	}
	if !p.until("on b", 1) || !p.until(`"iteration"`, 3) {
		t.Fatal("it was over before it went on with b", p.stderr.String())
	}
	b.signal(syscall.SIGTERM)
	if !p.until("it moves from program", 1) || !p.until("on x, y", 1) {
		t.Fatal("it was over before it has moved", p.stderr.String())
	}
	line, code := p.end()
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	want, dir := whole(t)
	sameBits(t, parse(t, line), want)
	sameRecord(t, filepath.Join(all.dir, "runs", "mine"), dir)
	text, err := os.ReadFile(filepath.Join(all.dir, "runs", "mine", "log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "nothing is done again"); n != 2 || strings.Count(string(text), " begins at step ") != 3 {
		t.Errorf("the log says:\n%s", text)
	}
}

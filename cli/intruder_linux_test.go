package cli_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/certs"
)

// TestForger: another user whose certificate is a worker's cannot write the record or the log of a
// run that it has no part of, nor end it, nor take the place of one that has.
func TestForger(t *testing.T) {
	w := newTown(t, map[string]string{"gpu1": "work", "mallory": "work", "alice": "submit"})
	w.work("a", "gpu1")
	alice := []string{"--cluster", w.at, "--certs", w.certs["alice"]}
	do(t, 0, append(tiny("--steps", "1_000_000_000", "--detach", "--out", "mine"), alice...)...)
	w.log.until("epoch 1 begins at step 0 on a")
	mallory := newStranger(t)
	for name, want := range map[string]string{
		"b": "welcome",
		"a": "refused worker a has a part of run mine, and another certificate",
	} {
		if text, err := mallory.do("forge", w.at, w.certs["mallory"], name, "mine"); err != nil || !strings.HasPrefix(text, want) {
			t.Errorf("as worker %s: %v: %s, want %q", name, err, text, want)
		}
	}
	w.log.until(`worker b says "record" of run "mine", of which it has no part`)
	contains(t, do(t, 0, append([]string{"status", "mine"}, alice...)...).out, "run mine is running", "epoch 1 ")
	do(t, 0, append([]string{"stop", "mine"}, alice...)...)
	o := do(t, 0, append([]string{"logs", "mine", "--follow"}, alice...)...)
	if strings.Contains(o.out, "epoch 2") {
		t.Errorf("it did not go on in its epoch:\n%s", o.out)
	}
	dir := filepath.Join("runs", "mine")
	rows, err := metrics.ReadJSONL(filepath.Join(dir, "metrics.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	steps(t, dir, 8*len(rows))
	lacks(t, dir, "forged", "\x1b")
}

// TestSpoiler: a worker of another user that is given a part of a run has it logged and shown
// without the codes that a terminal would obey.
func TestSpoiler(t *testing.T) {
	w := newTown(t, map[string]string{"mallory": "work", "alice": "submit"})
	alice := []string{"--cluster", w.at, "--certs", w.certs["alice"]}
	do(t, 0, append(tiny("--detach", "--out", "mine"), alice...)...)
	if text, err := newStranger(t).do("spoil", w.at, w.certs["mallory"], "b"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	o := do(t, 0, append([]string{"logs", "mine", "--follow"}, alice...)...)
	contains(t, o.out, `\x1b[2J\u202espoiled`, `\x1b]0;title\x07spoiled`)
	if strings.ContainsAny(o.out, "\x1b\x07\u202e") {
		t.Errorf("%q", o.out)
	}
	contains(t, w.log.until("title"), `\x1b]0;title\x07spoiled`)
	lacks(t, "runs", "\x1b", "\x07", "\u202e")
}

// lacks fails if a file below a folder contains one of some texts.
func lacks(t *testing.T, dir string, texts ...string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		all, err := os.ReadFile(path)
		for _, text := range texts {
			if bytes.Contains(all, []byte(text)) {
				t.Errorf("%s contains %q", path, text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFlood: however many runs another user submits, and however large, the coordinator takes so
// many and so much, says what it does not take, and has memory for the rest.
func TestFlood(t *testing.T) {
	w := newTown(t, map[string]string{"mallory": "submit"})
	mallory := newStranger(t)
	flood := func(name string, size int) (taken int, why string) {
		t.Helper()
		text, err := mallory.do("flood", w.at, w.certs["mallory"], name, "300", fmt.Sprint(size))
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if _, err := fmt.Sscan(text, &taken); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		return taken, text
	}
	if n, why := flood("large", 250_000); n != 0 || !strings.Contains(why, "--max-submission of weft coordinator") {
		t.Errorf("%d of 250 kB were taken: %s", n, why)
	}
	const size = 60_000
	n, why := flood("fair", size)
	if n != (8<<20)/size || !strings.Contains(why, "--max-waiting of weft coordinator") {
		t.Errorf("%d of %d bytes were taken: %s", n, size, why)
	}
	small, why := flood("small", 100)
	if n+small != 200 || !strings.Contains(why, "--max-runs of weft coordinator") {
		t.Errorf("%d and %d runs were taken: %s", n, small, why)
	}
	if most := peak(t, w.pid); most > 600<<10 { // 2 GB without bounds
		t.Errorf("the coordinator had %d MB of memory", most>>10)
	}
}

// peak returns how much memory a process has had at most, in KiB.
func peak(t *testing.T, pid int) (kib int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib
		}
	}
	t.Fatalf("no VmHWM in %s", text)
	return 0
}

// TestKnock: another user whose certificate is of an authority of its own, or who shows none, is
// refused, and the coordinator logs who that was.
func TestKnock(t *testing.T) {
	w := newTown(t, nil)
	theirs := t.TempDir()
	if err := certs.Init(theirs); err != nil {
		t.Fatal(err)
	}
	if _, err := certs.Issue(theirs, "mallory", certs.Roles()); err != nil {
		t.Fatal(err)
	}
	mallory := newStranger(t)
	own := filepath.Join(mallory.home, "own")
	if err := os.CopyFS(own, os.DirFS(theirs)); err != nil {
		t.Fatal(err)
	}
	open(t, own)
	text, err := mallory.do("knock", w.at, own)
	if err != nil || !strings.Contains(text, "foreign remote error: tls") || !strings.Contains(text, "none remote error: tls: certificate required") {
		t.Errorf("%v: %s", err, text)
	}
	for _, want := range []string{`certificate of "mallory"`, "client didn't provide a certificate"} {
		contains(t, w.log.until(want), "refused 127.0.0.1:")
	}
}

// open lets everybody read a folder and its files.
func open(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Chmod(path, 0o755)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestStoreKeys: keys in a store's address are refused, whoever gives them, not repeated, and
// written nowhere.
func TestStoreKeys(t *testing.T) {
	w := newTown(t, map[string]string{"gpu1": "work"})
	other := newStranger(t)
	for _, place := range []string{"s3://me:hidden@127.0.0.1:1/bucket", "s3://127.0.0.1:1/bucket?secret_key=hidden"} {
		for _, args := range [][]string{
			{"worker", "--join", w.at, "--certs", w.certs["gpu1"], "--store", place},
			tiny("--processes", "1", "--store", place),
		} {
			text, err := other.do("1", args...)
			if err == nil || !strings.Contains(text, "AWS_SECRET_ACCESS_KEY") || strings.Contains(text, "hidden") {
				t.Errorf("weft %s: %v\n%s", strings.Join(args, " "), err, text)
			}
		}
	}
	if err := os.Remove(other.program); err != nil { // which has the texts of this test
		t.Fatal(err)
	}
	lacks(t, other.home, "hidden")
	lacks(t, ".", "hidden")
}

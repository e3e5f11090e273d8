package checkpoint

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const helperEnv = "WEFT_CHECKPOINT_TEST_HELPER"

// TestMain lets the test binary be the other process that some tests need.
func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "lock":
		holdLock(os.Args[1])
	case "save":
		saveForever(os.Args[1], big)
	case "save blocks":
		r := newRing(40)
		saveForever(os.Args[1], func(content byte) File {
			r.put(int(content)*5, content)
			return r.file(content)
		})
	default:
		os.Exit(m.Run())
	}
}

// holdLock takes the lock, says so and waits to be killed.
func holdLock(dir string) {
	_, err := Lock(dir)
	fmt.Println(err)
	bufio.NewReader(os.Stdin).ReadByte()
}

// saveForever saves one step after the other and says each when it is done.
func saveForever(dir string, content func(byte) File) {
	d, err := Open(dir, 2)
	for step := int64(1); err == nil; step++ {
		if err = d.Save(step, content(byte(step))); err == nil {
			fmt.Println(step)
		}
	}
	fmt.Println(err)
}

// helper starts another process and returns what it prints, and a function that kills it and waits
// for its end.
func helper(t *testing.T, role, dir string) (cmd *exec.Cmd, out *bufio.Scanner, kill func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(exe, dir)
	cmd.Env = append(os.Environ(), helperEnv+"="+role)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		cmd.Process.Kill()
		stdin.Close()
		cmd.Wait()
	})
	t.Cleanup(kill)
	return cmd, bufio.NewScanner(stdout), kill
}

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "run")
	for range 2 {
		release, err := Lock(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Lock(dir)
		if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d:", os.Getpid())) {
			t.Errorf("second lock: %v", err)
		}
		release()
		release()
	}
	if text, err := os.ReadFile(filepath.Join(dir, LockName)); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
}

func TestLockFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	put(t, file, nil)
	if _, err := Lock(file); err == nil || errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
}

func TestLockHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for text, want := range map[string]string{"12": "process 12", "": "another process", "x": "another process"} {
		put(t, path, []byte(text))
		if got := holder(path); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestLockOfTheKilled(t *testing.T) {
	dir := t.TempDir()
	other, out, kill := helper(t, "lock", dir)
	if !out.Scan() || out.Text() != "<nil>" {
		t.Fatalf("the other process says %q, %v", out.Text(), out.Err())
	}
	_, err := Lock(dir)
	if !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d:", other.Process.Pid)) {
		t.Errorf("while it lives: %v", err)
	}
	kill()
	release, err := Lock(dir)
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	release()
}

// A process killed while it saves has lost nothing of what it said was saved.
func TestSaveKilled(t *testing.T) {
	for n := 1; n <= 5; n++ {
		dir := t.TempDir()
		_, out, kill := helper(t, "save", dir)
		for range n {
			if !out.Scan() || strings.Contains(out.Text(), ":") {
				t.Fatalf("the other process says %q, %v", out.Text(), out.Err())
			}
		}
		kill()
		d := openDir(t, dir, 2)
		f, step, skipped, err := d.Latest()
		if err != nil || step < int64(n) || len(skipped) > 0 {
			t.Fatalf("after %d saves: step %d, skipped %v, %v", n, step, skipped, err)
		}
		want(t, f, big(byte(step)))
		if err := d.Save(step+1, big(1)); err != nil {
			t.Error(err)
		}
		if files := names(t, dir); len(files) != 2 && step > 1 {
			t.Error(files)
		}
	}
}

// Who comes right after another waits for its end.
func TestLockSoon(t *testing.T) {
	dir := t.TempDir()
	first, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		release, err := LockSoon(dir)
		if err == nil {
			release()
		}
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	first()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

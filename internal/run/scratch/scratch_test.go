package scratch

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/weft-rl/weft/internal/run/checkpoint"
)

const asHolder = "WEFT_TEST_HOLDER"

// TestMain may also be a process that holds a folder until its input ends.
func TestMain(m *testing.M) {
	if os.Getenv(asHolder) == "" {
		os.Exit(m.Run())
	}
	f, err := New("weft-data-")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(f.Path, "socket"), nil, 0o600); err != nil {
		panic(err)
	}
	os.Stdout.WriteString(f.Path + "\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// What a killed process left is removed; what is held, or of another kind, is not.
func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if !checkpoint.LocksShared || os.TempDir() != os.Getenv("TMPDIR") {
		t.Skip("there are no locks that other processes see, or the folder of temporary files is fixed")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	holder := exec.CommandContext(t.Context(), program)
	holder.Env = append(os.Environ(), asHolder+"=1")
	out, err1 := holder.StdoutPipe()
	in, err2 := holder.StdinPipe()
	if err1 != nil || err2 != nil || holder.Start() != nil {
		t.Fatal("the process that holds a folder could not be started")
	}
	defer in.Close()
	line := bufio.NewScanner(out)
	line.Scan()
	held := line.Text()

	mine, err := New("weft-data-")
	if err != nil {
		t.Fatal(err)
	}
	other, err := New("weft-cluster-")
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(os.TempDir(), "weft-data-by-hand") // without a lock
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(os.TempDir(), "weft-data-link")
	if err := os.Symlink(other.Path, link); err != nil {
		t.Fatal(err)
	}
	Sweep("weft-data-")
	for _, path := range []string{held, mine.Path, other.Path, foreign, link} {
		if !there(path) {
			t.Errorf("%s was removed", path)
		}
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed
	if !there(held) {
		t.Fatal("the killed process left nothing")
	}
	next, err := New("weft-data-")
	if err != nil {
		t.Fatal(err)
	}
	if there(held) {
		t.Error("what a killed process left is still there")
	}
	for _, f := range []*Folder{mine, other, next} {
		if !there(f.Path) {
			t.Errorf("%s was removed", f.Path)
		}
		if err := f.Remove(); err != nil || there(f.Path) {
			t.Errorf("%s is still there: %v", f.Path, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

// TestTogether: who makes a folder sweeps, and is not in the way of who removes one meanwhile.
func TestTogether(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				f, err := New("weft-data-")
				if err == nil {
					err = f.Remove()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	Sweep("weft-data-")
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestGone: what a process was removing when it was killed is removed.
func TestGone(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(os.TempDir(), gone+"weft-data-1")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if Sweep("weft-cluster-"); !there(path) {
		t.Error("it was removed by those of another kind")
	}
	if Sweep("weft-data-"); there(path) {
		t.Error("it is still there")
	}
}

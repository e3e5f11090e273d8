package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// children returns the processes of a process, by the command they run.
func children(t *testing.T, of int) map[int]string {
	t.Helper()
	out := map[int]string{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if parent, _ := strconv.Atoi(f[1]); parent != of || f[0] == "Z" {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		out[pid] = strings.ReplaceAll(string(line), "\x00", " ")
	}
	return out
}

// gone waits until a process is no more.
func gone(t *testing.T, pid int) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	limit := time.After(2 * time.Minute) // of a busy machine
	for {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(text), ") Z ") {
			return
		}
		select {
		case <-limit:
			t.Fatalf("process %d is still there: %s", pid, text)
		case <-ticker.C:
		}
	}
}

// parent returns a run in processes, as a process.
func parent(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

func scanTo(t *testing.T, s *bufio.Scanner, text string) string {
	t.Helper()
	for s.Scan() {
		if strings.Contains(s.Text(), text) {
			return s.Text()
		}
	}
	t.Fatalf("no %q before the end", text)
	return ""
}

// When the parent is killed nothing of its cluster is left.
func TestProcessesOrphaned(t *testing.T) {
	t.Chdir(t.TempDir())
	cmd, out := parent(t, tiny("--processes", "2", "--policy", "single-learner-coarse", "--steps", "1_000_000", "--json", "--out", "mine")...)
	scanTo(t, out, `"iteration"`)
	all := children(t, cmd.Process.Pid)
	if len(all) != 3 {
		t.Errorf("%d processes: %v", len(all), all)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	for pid := range all {
		gone(t, pid)
	}
}

// Whichever process is killed or frozen, the run goes on to its end, and no step is
// recorded twice or lost.
func TestProcessesKilled(t *testing.T) {
	for _, c := range []struct {
		victim string
		with   syscall.Signal
	}{{"coordinator", syscall.SIGKILL}, {"coordinator", syscall.SIGSTOP}, {"w0", syscall.SIGKILL}, {"w1", syscall.SIGSTOP}} {
		t.Run(c.victim+" "+c.with.String(), func(t *testing.T) {
			t.Chdir(t.TempDir())
			const n = 8 * 1600
			cmd, out := parent(t, tiny("--processes", "2", "--policy", "single-learner-coarse", "--steps", fmt.Sprint(n), "--json", "--out", "mine")...)
			scanTo(t, out, `"iteration"`)
			scanTo(t, out, `"iteration"`)
			hit := strike(t, cmd.Process.Pid, c.victim, c.with)
			if c.with == syscall.SIGSTOP {
				wake := time.AfterFunc(1500*time.Millisecond, func() { _ = syscall.Kill(hit, syscall.SIGCONT) })
				defer wake.Stop()
			}
			line := scanTo(t, out, `"done"`)
			if !strings.Contains(line, fmt.Sprintf(`"steps":%d`, n)) {
				t.Error(line)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			steps(t, "mine", n)
		})
	}
}

// strike sends a signal to a process of a parent's, by what it is called.
func strike(t *testing.T, parent int, victim string, with syscall.Signal) (hit int) {
	t.Helper()
	for pid, line := range children(t, parent) {
		if slices.Contains(strings.Fields(line), victim) {
			if err := syscall.Kill(pid, with); err != nil {
				t.Fatal(err)
			}
			hit = pid
		}
	}
	if hit == 0 {
		t.Fatalf("%s is not there", victim)
	}
	return hit
}

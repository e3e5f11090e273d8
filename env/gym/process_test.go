//go:build linux

package gym

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// pids returns those of a batch's workers.
func pids(b *batch) (out []int) {
	for _, w := range b.workers {
		if w.cmd != nil {
			out = append(out, w.cmd.Process.Pid)
		}
	}
	return out
}

// gone waits until a process is, which must not take long.
func gone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it is already
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20_000)
		if err == unix.EINTR {
			continue
		}
		if n != 1 || err != nil {
			t.Errorf("process %d is still there (%v)", pid, err)
		}
		return
	}
}

// segments returns the names of shared memory that there are.
func segments(t *testing.T) []string {
	all, err := filepath.Glob("/dev/shm/*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(name string) bool { return !strings.Contains(name, "weft") })
}

// Closed environments leave nothing, and say so when they are used.
func TestClose(t *testing.T) {
	needs(t)
	t.Parallel()
	s := rl.NewScope(backend, 1)
	b, err := entry(t, ours+"Base").New(s, 3, with(func(o *Options) { o.Workers = 2 }))
	if err != nil {
		t.Fatal(err)
	}
	s.Register("env", b)
	b.Obs()
	all := pids(b.(alone).batch)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range all {
		gone(t, pid)
	}
	if len(all) != 2 || len(segments(t)) > 0 {
		t.Errorf("%d workers, shared memory %q", len(all), segments(t))
	}
	if _, err := steps(s, b, 1); err == nil || !strings.Contains(err.Error(), "it was closed") {
		t.Errorf("error %v", err)
	}
}

// What environments are is found out once for an entry, by a worker that then has
// work to do; who is not asked for anything has no process.
func TestLazy(t *testing.T) {
	needs(t)
	t.Parallel()
	e, err := Entry(ours + "Base")
	if err != nil {
		t.Fatal(err)
	}
	open := func(s *rl.Scope) *batch {
		b, err := e.New(s, 4, with(func(o *Options) { o.Workers = 2 }))
		if err != nil {
			t.Fatal(err)
		}
		s.Register("env", b)
		return b.(alone).batch
	}
	root := newScope(t, 1)
	first := open(root)
	scout := pids(first)
	next, part := open(newScope(t, 1)), open(root.Shard(1, 2))
	if len(scout) != 1 || len(pids(next))+len(pids(part)) > 0 || !reflect.DeepEqual(next.Spec(), first.Spec()) || part.Spec()[0].Rows != 2 {
		t.Errorf("processes %v, then %v and %v", scout, pids(next), pids(part))
	}
	first.Obs()
	part.Obs()
	if all := pids(first); len(all) != 2 || all[0] != scout[0] || len(pids(part)) != 2 {
		t.Errorf("processes %v of whom %v began, and %v", all, scout, pids(part))
	}
	t.Cleanup(func() { _ = part.Close() })
	mine, whole := rl.Floats(part.Obs()[0].X.At(0)), rl.Floats(first.Obs()[0].X.At(0))
	if !slices.Equal(mine, whole[len(whole)/2:]) {
		t.Errorf("a shard begins with %v, all with %v", mine, whole)
	}
}

const victim = "WEFT_GYM_VICTIM"

// A process that is to be killed runs no tests: it opens environments, tells
// their workers, and waits for its end.
func init() {
	how := os.Getenv(victim)
	if how == "" {
		return
	}
	e, err := Entry(ours + "Faulty")
	o := with(func(o *Options) { o.Workers, o.Exact = 2, false })
	_ = o.SetExtra("how", how)
	s := rl.NewScope(backend, 1)
	var b env.Batch
	if err == nil {
		b, err = e.New(s, 4, o)
	}
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
	b.Obs()
	fmt.Println("pids", pids(b.(alone).batch))
	_, _ = steps(s, b, 1000) // hangs at the third step, or goes on for a while
	select {}
}

// However a parent ends, its workers end with it: while they wait, and while they
// are stuck.
func TestParentKilled(t *testing.T) {
	needs(t)
	t.Parallel()
	for _, how := range []string{"never", "hang"} {
		t.Run(how, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), victim+"="+how)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "pids [") {
				t.Errorf("it said %q, %v", line, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // that it was killed is no news
			for _, text := range strings.Fields(strings.Trim(strings.TrimPrefix(line, "pids"), " []\n")) {
				pid, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				gone(t, pid)
			}
			if s := segments(t); len(s) > 0 {
				t.Errorf("shared memory %q", s)
			}
		})
	}
}

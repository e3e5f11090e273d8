package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// host starts a worker that runs programs which runs bring, and keeps them in a folder.
func (c *cluster) host(name string, more ...string) *process {
	c.t.Helper()
	p := start(c.t, c.dir, append([]string{"worker", "--join", c.at, "--name", name, "--devices", "cpu", "--store", "store", "--programs", filepath.Join(c.dir, "programs"), "--json"}, more...)...)
	if !p.until("joined", 1) {
		c.t.Fatal(p.stderr.String())
	}
	c.drain(p)
	return p
}

// guestOf returns the program that a worker runs for a run, which can be waited for.
func guestOf(t *testing.T, worker *process) (pid, fd int) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", worker.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, _ := os.ReadFile(task) // of a thread that has ended
		for _, child := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if !strings.HasSuffix(string(line), "\x00guest\x00") {
				continue
			}
			if pid, err = strconv.Atoi(child); err == nil {
				fd, err = unix.PidfdOpen(pid, 0)
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { unix.Close(fd) })
			return pid, fd
		}
	}
	t.Fatal("the worker runs no program")
	return 0, 0
}

// gone waits for a process to end.
func gone(t *testing.T, fd int) {
	t.Helper()
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
		if err == nil {
			return
		}
		if err != unix.EINTR {
			t.Fatal(err)
		}
	}
}

// travels returns a run of the author's algorithm.
func travels(more ...string) []string {
	return append([]string{
		"train", "./algo", "--env", "CartPole-v1", "--policy", "single-learner-coarse", "--steps", "196608", "--checkpoint-steps", "2048", "--eval-episodes", "0",
		"--no-verify", "--json", "--set", "envs=4", "--set", "horizon=16", "--set", "hidden=16", "--set", "epochs=1", "--set", "minibatches=2",
	}, more...)
}

// TestTravel trains an author's algorithm on workers that do not know it, while another version of
// it is trained beside it. The program of a worker is killed, then a worker with its program. The
// run ends in the bits of the plain loop.
func TestTravel(t *testing.T) {
	all, workers := newCluster(t), map[string]*process{}
	for _, name := range []string{"a", "b", "c"} {
		workers[name] = all.host(name)
	}
	q := start(t, another(t), travels("--cluster", all.at, "--workers", "1", "--out", "other", "--steps", "1000000000")...)
	if !q.until("with its own program", 1) {
		t.Fatal(q.stderr.String())
	}
	version := q.lines.Text()
	if !q.until(`"iteration"`, 1) {
		t.Fatal(q.stderr.String())
	}
	all.drain(q)

	dir := own(t)
	p := start(t, dir, travels("--cluster", all.at, "--workers", "2", "--out", "mine")...)
	if !p.until("with its own program", 1) {
		t.Fatal(p.stderr.String())
	}
	hash := regexp.MustCompile(`([0-9a-f]{8})[0-9a-f]{4} for linux/`).FindStringSubmatch(p.lines.Text())
	if len(hash) != 2 || strings.Contains(version, hash[1]) {
		t.Fatalf("%s, and the other: %s", p.lines.Text(), version)
	}
	if !p.until("epoch 1 begins", 1) {
		t.Fatal(p.stderr.String())
	}
	at := regexp.MustCompile(`on ([abc]), ([abc])`).FindStringSubmatch(p.lines.Text())
	if !p.until(`"iteration"`, 3) || len(at) != 3 {
		t.Fatal(p.stderr.String(), at)
	}
	pid, fd := guestOf(t, workers[at[1]])
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // or the run may be over before its status is told
		t.Fatal(err)
	}
	status(t, all, hash[1])
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, fd)
	if !p.until("epoch 1 is over", 1) {
		t.Fatal("it was over before it went on without the program", p.stderr.String())
	}
	// Whichever of the two workers is first to notice says why.
	noticed, told := "worker "+at[1]+": program "+hash[1], "worker "+at[2]+": worker "+at[1]+" was lost"
	if why := p.lines.Text(); !(strings.Contains(why, noticed) && strings.Contains(why, "was ended by a signal")) && !strings.Contains(why, told) {
		t.Errorf("%s, want %q or %q", why, noticed, told)
	}
	if !p.until("epoch 2 begins", 1) || !p.until(`"iteration"`, 2) {
		t.Fatal("it did not go on without the program", p.stderr.String())
	}
	_, fd = guestOf(t, workers[at[2]])
	workers[at[2]].signal(os.Kill)
	gone(t, fd) // no program outlives its worker
	line, code := p.end()
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, p.stderr.String())
	}
	want, _ := do(t, dir, 0, travels("--policy", "plain", "--out", "plain")...)
	sameBits(t, parse(t, line), parse(t, want))
	sameRecord(t, filepath.Join(all.dir, "runs", "mine"), filepath.Join(dir, "plain"))
	for _, folder := range []string{filepath.Join(all.dir, "programs"), filepath.Join(all.dir, "runs", ".programs")} {
		kept, err := os.ReadDir(folder)
		if err != nil || len(kept) != 2 {
			t.Errorf("%s: %v, %v: want two programs", folder, kept, err)
		}
	}
	if _, text := do(t, all.dir, 0, "stop", "other", "--cluster", all.at, "--now"); text != "" {
		t.Error(text)
	}
}

// another returns the module of an author, with another version of the algorithm.
func another(t *testing.T) string {
	t.Helper()
	dir := own(t)
	source := filepath.Join(dir, "algo", "algo.go")
	text, err := os.ReadFile(source)
	if err == nil {
		err = os.WriteFile(source, []byte(strings.Replace(string(text), "an algorithm of one's own", "another version", 1)), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

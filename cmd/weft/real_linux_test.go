package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/store/s3test"
)

// worker returns the number of a process that works for a local cluster of a parent's.
func worker(t *testing.T, parent int, name string) int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range all {
		line, _ := os.ReadFile(path)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "stat"))
		_, rest, _ := strings.Cut(string(stat), ") ")
		if bytes.Contains(line, []byte("\x00"+name+"\x00")) && strings.Fields(rest + " 0 0")[1] == fmt.Sprint(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("there is no process %s", name)
	return 0
}

// A run whose checkpoints are on a real S3 server, with a worker killed, the server
// killed and away for a while, and then all of it killed, ends in the bits of the plain
// loop, in processes and in one.
func TestRealRun(t *testing.T) {
	server := s3test.Start(t)
	dir := t.TempDir()
	args := func(more ...string) []string {
		return append([]string{
			"train", "ppo", "--env", "CartPole-v1", "--steps", "196608", "--checkpoint-steps", "512", "--eval-episodes", "4", "--json",
			"--set", "envs=4", "--set", "horizon=16", "--set", "hidden=16", "--set", "epochs=1", "--set", "minibatches=2",
		}, more...)
	}
	line, _ := do(t, dir, 0, args("--out", "whole")...)
	want := parse(t, line)
	p := start(t, dir, args("--policy", "single-learner-coarse", "--processes", "2", "--store", server.Place("runs"), "--out", "mine")...)
	until := func(text string, n int) {
		t.Helper()
		if !p.until(text, n) {
			t.Fatalf("it ended before it said %s: %s", text, p.stderr.String())
		}
	}
	until(`"iteration"`, 3)
	if err := syscall.Kill(worker(t, p.Process.Pid, "w0"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until("epoch 2 begins", 1)
	until(`"iteration"`, 2)
	server.Kill()
	time.Sleep(time.Second) // it is away
	server.Run()
	until(`"iteration"`, 2)
	p.signal(syscall.SIGKILL)
	p.end()
	if left, _ := filepath.Glob(filepath.Join(dir, "mine", "*.safetensors")); len(left) > 0 {
		t.Errorf("checkpoints are beside the server: %v", left)
	}
	if err := os.CopyFS(filepath.Join(dir, "copy", "mine"), os.DirFS(filepath.Join(dir, "mine"))); err != nil {
		t.Fatal(err)
	}
	line, _ = do(t, dir, 0, "resume", "copy/mine", "--json") // in one process
	sameBits(t, parse(t, line), want)
	line, _ = do(t, dir, 0, "resume", "mine", "--processes", "3", "--json")
	sameBits(t, parse(t, line), want)
	do(t, dir, 0, "eval", "mine", "--episodes", "2", "--best")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another secret")
	began := time.Now()
	_, text := do(t, dir, 1, args("--policy", "single-learner-coarse", "--processes", "2", "--store", server.Place("runs"), "--out", "other")...)
	if !strings.Contains(text, "signature") || strings.Count(text, "\n") != 1 {
		t.Errorf("a wrong key: %s", text)
	}
	t.Logf("a wrong key was told after %v", time.Since(began))
	if _, text := do(t, dir, 2, "resume", "mine", "--steps", "200000"); !strings.Contains(text, "signature") {
		t.Errorf("a wrong key: %s", text)
	}
}

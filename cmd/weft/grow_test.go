//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cluster is a coordinator, as a process.
type cluster struct {
	t   *testing.T
	dir string
	at  string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	p := start(t, dir, "coordinator", "--listen", "127.0.0.1:0", "--json")
	if !p.until("listening", 1) {
		t.Fatal(p.stderr.String())
	}
	var e struct{ Address string }
	if err := json.Unmarshal(p.lines.Bytes(), &e); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t, dir, e.Address}
	c.drain(p)
	return c
}

// join starts a worker, which can be killed.
func (c *cluster) join(name string) *process {
	c.t.Helper()
	p := start(c.t, c.dir, "worker", "--join", c.at, "--name", name, "--devices", "cpu", "--store", "store", "--json")
	if !p.until("joined", 1) {
		c.t.Fatal(p.stderr.String())
	}
	c.drain(p)
	return p
}

// drain reads what a process has to say until it is over, and ends it with the test.
func (c *cluster) drain(p *process) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for p.lines.Scan() {
		}
	}()
	c.t.Cleanup(func() {
		_ = p.Process.Kill() // or it is gone already
		<-done
		_ = p.Wait() // it was killed
	})
}

// A run that grows takes workers in that join, does without one that is killed, and ends
// in the bits of one that nothing happened to.
func TestGrow(t *testing.T) {
	for _, c := range []struct {
		name, begin, join, kill string // workers
		policy, reference       string
	}{
		{"coarse", "a b", "c", "b", "single-learner-coarse --steps 393216", "plain --steps 393216"},
		{"fine", "a", "b c", "", "single-learner-fine --steps 131072", "plain --steps 131072"},
		{"learners", "a b", "c", "", "multi-learner", "multi-learner --workers 3"}, // that many decide what is computed
		{"async", "a", "b c", "", "single-learner-coarse --async", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, workers := newCluster(t), map[string]*process{}
			join := func(names string) int {
				for _, name := range strings.Fields(names) {
					workers[name] = all.join(name)
				}
				return len(strings.Fields(names))
			}
			train := func(how string, more ...string) []string {
				return append(split(more...), strings.Fields("--policy "+how)...)
			}
			begin := join(c.begin)
			p := start(t, all.dir, train(c.policy, "--cluster", all.at, "--workers", fmt.Sprint(begin), "--max-workers", "3", "--out", "mine")...)
			if !p.until(`"iteration"`, 1) {
				t.Fatal(p.stderr.String())
			}
			join(c.join)
			if !p.until("on a, b, c", 1) || !p.until(`"iteration"`, 2) {
				t.Fatal("it was over before it has grown", p.stderr.String())
			}
			status(t, all, "3 (up to 3)")
			if c.kill != "" {
				workers[c.kill].signal(os.Kill)
				if !p.until("on a, c", 1) {
					t.Fatal("it was over before it went on with fewer", p.stderr.String())
				}
			}
			line, code := p.end()
			got := parse(t, line)
			if code != 0 || got.Event != "done" {
				t.Fatalf("exit code %d, %+v\n%s", code, got, p.stderr.String())
			}
			if c.reference == "" {
				return
			}
			line, _ = do(t, all.dir, 0, train(c.reference, "--out", "whole")...)
			sameBits(t, got, parse(t, line))
			sameRecord(t, filepath.Join(all.dir, "runs", "mine"), filepath.Join(all.dir, "whole"))
		})
	}
}

// status checks that weft status shows something.
func status(t *testing.T, c *cluster, want string) {
	t.Helper()
	p := start(t, c.dir, "status", "--cluster", c.at)
	if !p.until(want, 1) {
		t.Errorf("weft status does not show %q", want)
	}
	p.end()
}

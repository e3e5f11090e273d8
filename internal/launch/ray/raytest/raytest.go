// Package raytest starts a real Ray of three nodes on this machine, for tests. It needs the
// variable WEFT_RAY, the path of a Python that has Ray; without it tests are skipped.
package raytest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/launch/local"
)

//go:embed cluster.py
var script string

// Cluster is a Ray with a head that runs no work and the nodes n1, n2 and n3, of two CPUs each.
type Cluster struct {
	Address string

	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

// Start starts a Ray, which ends with the test. Commands of the test's process find it.
func Start(t *testing.T) *Cluster {
	t.Helper()
	python := os.Getenv("WEFT_RAY")
	if python == "" {
		t.Skip("WEFT_RAY=PYTHON starts a Ray to test with")
	}
	dir, err := os.MkdirTemp("", "wr-") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	var said local.Tail
	cmd := exec.Command(python, "-c", script, dir)
	cmd.Stderr = &said
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	for _, err := range []error{err1, err2, cmd.Start()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	c := &Cluster{t: t, in: in, out: bufio.NewScanner(out)}
	c.out.Buffer(nil, 16<<20)
	t.Cleanup(func() {
		_ = in.Close() // it ends with its input
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, said.String())
		}
		os.RemoveAll(dir)
	})
	if c.read(&c.Address); c.Address == "" {
		t.Fatalf("Ray does not start: %s", said.String())
	}
	t.Setenv("RAY_ADDRESS", c.Address)
	t.Setenv("WEFT_PYTHON", python)
	return c
}

// read reads a reply.
func (c *Cluster) read(reply any) {
	c.t.Helper()
	if !c.out.Scan() {
		c.t.Fatalf("the cluster has ended: %v", c.out.Err())
	}
	var failed struct{ Error string }
	if json.Unmarshal(c.out.Bytes(), &failed) == nil && failed.Error != "" {
		c.t.Fatal(failed.Error)
	}
	if err := json.Unmarshal(c.out.Bytes(), reply); err != nil {
		c.t.Fatalf("%v: %s", err, c.out.Text())
	}
}

func (c *Cluster) do(reply any, words ...string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, strings.Join(words, " ")); err != nil {
		c.t.Fatal(err)
	}
	c.read(reply)
}

// Kill kills a node, and with it its actors.
func (c *Cluster) Kill(node string) { c.do(&struct{}{}, "kill", node) }

// Revive starts a node in the place of one that was killed.
func (c *Cluster) Revive(node string) { c.do(&struct{}{}, "revive", node) }

// Drain tells the cluster that a node is about to leave.
func (c *Cluster) Drain(node string) { c.do(&struct{}{}, "drain", node) }

// Signal sends a signal to the workers on a node.
func (c *Cluster) Signal(node string, s syscall.Signal) {
	c.do(&struct{}{}, "signal", node, fmt.Sprint(int(s)))
}

// Node returns the name of the node that a text names by its id.
func (c *Cluster) Node(text string) string {
	var names map[string]string
	c.do(&names, "nodes")
	for id, name := range names {
		if strings.Contains(text, id) {
			return name
		}
	}
	return ""
}

// Metrics returns what a node has for Prometheus.
func (c *Cluster) Metrics(node string) string {
	var said struct{ Text string }
	c.do(&said, "metrics", node)
	return said.Text
}

// Left lists what jobs have of a cluster.
type Left struct {
	Actors []string
	Groups int
}

// Left returns what jobs have of the cluster.
func (c *Cluster) Left() (l Left) {
	c.do(&l, "left")
	return l
}

// Await waits until something holds.
func (c *Cluster) Await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	over := time.After(2 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-over:
			t.Fatalf("%s: not within two minutes: %+v", what, c.Left())
		case <-tick.C:
		}
	}
}

// Empty waits until no job has anything of the cluster.
func (c *Cluster) Empty(t *testing.T) {
	t.Helper()
	c.Await(t, "nothing is left behind", func() bool { l := c.Left(); return len(l.Actors) == 0 && l.Groups == 0 })
}

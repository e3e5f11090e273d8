// Package slurmtest starts a real Slurm of three nodes on this machine, for tests. It needs root
// and Debian's packages slurm-wlm and munge, and the variable WEFT_SLURM, since nobody expects a
// plain go test to start daemons; without them tests are skipped.
package slurmtest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed cluster
var script string

// Cluster is a Slurm with the nodes n1, n2 and n3.
type Cluster struct {
	t   *testing.T
	dir string
}

// Start starts a Slurm, which ends with the test. Commands of the test's process find it.
func Start(t *testing.T) Cluster {
	t.Helper()
	if os.Getenv("WEFT_SLURM") == "" {
		t.Skip("WEFT_SLURM=1 starts a Slurm to test with")
	}
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, name := range []string{"sbatch", "slurmctld", "slurmd", "munged"} {
		if _, err := exec.LookPath(name); err != nil || os.Getuid() != 0 {
			t.Skipf("there is no Slurm to test with: %s is needed, and root (apt-get install slurm-wlm munge)", name)
		}
	}
	dir, err := os.MkdirTemp("", "weft-slurm-") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	c := Cluster{t, dir}
	t.Cleanup(func() {
		c.do("stop")
		os.RemoveAll(dir)
	})
	c.do("start")
	return c
}

// Kill kills a node: its daemon, its job steps and their processes.
func (c Cluster) Kill(node string) { c.do("kill", node) }

// Revive starts the daemon of a node that was killed.
func (c Cluster) Revive(node string) { c.do("revive", node) }

// Signal sends a signal, by its name, to the workers on a node.
func (c Cluster) Signal(node, signal string) { c.do("signal", node, signal) }

// do has the script do something.
func (c Cluster) do(verb string, args ...string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "bash", append([]string{"-c", script, "cluster", verb, c.dir}, args...)...)
	if verb == "stop" { // the test's context is done by then
		cmd = exec.Command(cmd.Args[0], cmd.Args[1:]...)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%s %s: %v\n%s", verb, args, err, out)
	}
}

// Ask returns what a command of Slurm's prints, also if it fails.
func (c Cluster) Ask(name string, args ...string) string {
	out, _ := exec.Command(name, args...).CombinedOutput() // what it says is looked at
	return strings.TrimSpace(string(out))
}

// Await waits until something holds.
func (c Cluster) Await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	over := time.After(2 * time.Minute)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-over:
			t.Fatalf("%s: not within two minutes\n%s\n%s", what, c.Ask("squeue"), c.Ask("sinfo", "-N"))
		case <-tick.C:
		}
	}
}

// Requeued waits until the job of a name has been put back.
func (c Cluster) Requeued(t *testing.T, name string) {
	t.Helper()
	c.Await(t, "the job is requeued", func() bool { return c.state(name) == "PD" })
}

// Again waits until a job that is put back begins again.
func (c Cluster) Again(t *testing.T, name string) {
	t.Helper()
	c.Requeued(t, name)
	c.Await(t, "the job begins again", func() bool {
		c.Hurry(name)
		return c.state(name) != "PD"
	})
}

// Hurry has a job begin that has been put back, sooner than Slurm would by itself. It is not at
// once: nodes compare when a job was ended and when it begins in whole seconds.
func (c Cluster) Hurry(name string) {
	begin, err := time.ParseInLocation("2006-01-02T15:04:05", c.of(name, "%S"), time.Local)
	if err == nil && c.state(name) == "PD" && time.Until(begin) > 5*time.Second {
		c.Ask("scontrol", "update", "JobId="+c.Job(name), "StartTime=now+2")
	}
}

// Job returns the number of the job of a name.
func (c Cluster) Job(name string) string { return c.of(name, "%A") }

// state returns the short name of a job's state.
func (c Cluster) state(name string) string { return c.of(name, "%t") }

// of returns what Slurm tells of the job of a name, or of its first component.
func (c Cluster) of(name, what string) string {
	first, _, _ := strings.Cut(c.Ask("squeue", "-h", "-n", name, "-o", what), "\n")
	return first
}

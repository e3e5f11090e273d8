package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/weft-rl/weft/internal/launch/ray/raytest"
	"github.com/weft-rl/weft/internal/launch/slurm/slurmtest"
	"github.com/weft-rl/weft/internal/run/part"
)

// Steps of runs that something happens to, and steps between two faults.
const (
	longSteps  = "1048576"
	apartSteps = 8192
)

// happened matches what a status tells of what has happened to a run.
var happened = regexp.MustCompile(`"(restarts|epoch)":\d+`)

// faulty is an engine whose runs faults strike.
type faulty struct {
	kinds []string
	// strike has a fault of a kind strike a run on one of the nodes n1 to n3, repairs what does not
	// repair itself, and returns the command that follows the run from then on.
	strike func(t *testing.T, p *process, kind, out, node string) *process
	// onward waits until a run has come so many steps further.
	onward func(t *testing.T, out string)
	begin  func(out string, args []string) []string
	after  func(t *testing.T, out string) // looks at what is left of a run that is over
}

// survive strikes runs, two times each, with faults of all kinds in an order that a seed decides,
// and sees that they end in the bits of one that nothing happened to. There is one fault, or as
// many as WEFT_FAULTS says.
func (f faulty) survive(t *testing.T, dir string) {
	n, steps := 1, "262144"
	if text := os.Getenv("WEFT_FAULTS"); text != "" {
		n, _ = strconv.Atoi(text) // none, and the test fails
		steps = longSteps
	}
	line, _ := do(t, dir, 0, small("ppo", steps, "--out", "undisturbed")...)
	want := parse(t, line)
	order := rand.New(rand.NewPCG(1, 2))
	var turns []int
	counts := map[string]int{}
	for run := 0; n > 0; run++ {
		out := fmt.Sprintf("struck%d", run)
		p := start(t, dir, f.begin(out, small("ppo", steps))...)
		f.onward(t, out)
		for range min(2, n) {
			if over(filepath.Join(dir, out)) { // what strikes now is no fault
				break
			}
			if len(turns) == 0 {
				turns = order.Perm(len(f.kinds))
			}
			kind, node := f.kinds[turns[0]], fmt.Sprintf("n%d", 1+order.IntN(3))
			turns, n = turns[1:], n-1
			t.Logf("%s: %s on %s", out, kind, node)
			p = f.strike(t, p, kind, out, node)
			f.onward(t, out)
			counts[kind]++
		}
		line, code := p.end()
		if code != 0 {
			t.Fatalf("%s: exit code %d\n%s\n%s", out, code, line, p.stderr.String())
		}
		sameBits(t, parse(t, line), want)
		line, _ = do(t, dir, 0, "status", out, "--json")
		t.Logf("%s: %s", out, happened.FindAllString(line, -1))
		f.after(t, out)
	}
	if len(counts) == 0 {
		t.Error("there was no fault")
	}
	t.Logf("none of %v lost", counts)
}

// lengthy skips a test of an engine that CI has no time for.
func lengthy(t *testing.T) {
	t.Helper()
	if os.Getenv("WEFT_FAULTS") == "" {
		t.Skip("WEFT_FAULTS=N has it run too, and N faults strike")
	}
}

// over reports whether the run of a folder is.
func over(folder string) bool {
	text, err := os.ReadFile(filepath.Join(folder, "job", "progress.json"))
	return err == nil && bytes.Contains(text, []byte(`"over":true`))
}

// further waits until the run of a folder has come further than it is now, or is over.
func further(t *testing.T, a awaiter, folder string, meanwhile func()) {
	t.Helper()
	now, err := part.ReadCommitted(folder)
	if err != nil {
		t.Fatal(err)
	}
	a.Await(t, "a checkpoint further on", func() bool {
		meanwhile()
		c, err := part.ReadCommitted(folder)
		return err == nil && c.Step() > now.Step()+apartSteps || over(folder)
	})
}

// Runs on Slurm survive one fault after the other.
func TestSlurmFaults(t *testing.T) {
	s := slurmtest.Start(t)
	dir := t.TempDir()
	onward := func(t *testing.T, out string) {
		t.Helper()
		further(t, s, filepath.Join(dir, out), func() { s.Hurry(out) })
	}
	faulty{
		kinds:  []string{"node killed", "worker killed", "worker frozen", "requeued", "node drained", "time over", "cancelled"},
		onward: onward,
		begin:  onSlurm,
		after:  func(t *testing.T, out string) { noSecrets(t, filepath.Join(dir, out)) },
		strike: func(t *testing.T, p *process, kind, out, node string) *process {
			switch kind {
			case "node killed":
				s.Kill(node)
				if node == "n1" { // the coordinator's
					s.Requeued(t, out)
				}
				s.Revive(node)
			case "worker killed":
				s.Signal(node, "KILL")
			case "worker frozen":
				s.Signal(node, "STOP")
				onward(t, out)
				s.Signal(node, "CONT")
			case "requeued":
				s.Ask("scontrol", "requeue", s.Job(out))
			case "node drained": // jobs stay there until they are over, or put back
				s.Ask("scontrol", "update", "NodeName="+node, "State=DRAIN", "Reason=test")
				s.Ask("scontrol", "requeue", s.Job(out))
				s.Requeued(t, out)
				s.Ask("scontrol", "update", "NodeName="+node, "State=RESUME")
			case "time over":
				s.Ask("scancel", "--signal=USR1", "--batch", s.Job(out))
				s.Requeued(t, out)
			case "cancelled":
				s.Ask("scancel", s.Job(out))
				if line, code := p.end(); code != 130 {
					t.Fatalf("exit code %d: %s\n%s", code, line, p.stderr.String())
				}
				return start(t, dir, "resume", out, "--on", "slurm", "--nodes", "3", "--json")
			}
			return p
		},
	}.survive(t, dir)
}

// Runs on Ray survive one fault after the other.
func TestRayFaults(t *testing.T) {
	c := raytest.Start(t)
	dir := t.TempDir()
	onward := func(t *testing.T, out string) {
		t.Helper()
		further(t, c, filepath.Join(dir, out), func() {})
	}
	faulty{
		kinds:  []string{"node killed", "worker killed", "worker frozen", "leader's node killed", "node drained"},
		onward: onward,
		begin:  onRay,
		after: func(t *testing.T, out string) {
			noSecrets(t, filepath.Join(dir, out))
			c.Empty(t)
		},
		strike: func(t *testing.T, p *process, kind, out, node string) *process {
			switch kind {
			case "leader's node killed":
				node = leads(t, c, dir, out)
				fallthrough
			case "node killed":
				c.Kill(node)
				c.Revive(node)
			case "worker killed":
				c.Signal(node, syscall.SIGKILL)
			case "worker frozen":
				c.Signal(node, syscall.SIGSTOP)
				onward(t, out)
				c.Signal(node, syscall.SIGCONT)
			case "node drained": // and replaced by another one
				c.Drain(node)
				onward(t, out)
				c.Kill(node)
				c.Revive(node)
			}
			return p
		},
	}.survive(t, dir)
}

package slurm

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/local"
)

// launcher starts the coordinator as a child process, and each worker by an srun that is one. A
// worker ends with its srun, whose standard input Slurm forwards.
type launcher struct {
	host  string
	slots []launch.Slot
	of    []component // component of each slot
}

// Launch implements launch.Launcher.
func (l launcher) Launch(ctx context.Context, s launch.Spec) (launch.Cluster, error) {
	if len(s.Workers) > len(l.slots) {
		return nil, fmt.Errorf("%d workers are more than the %d tasks of the job: ask for more with --ntasks", len(s.Workers), len(l.slots))
	}
	s.Workers = slices.Clone(s.Workers)
	for i, w := range s.Workers {
		s.Workers[i].Wrap = append(l.of[i].step(w.Name, l.slots[i]), w.Wrap...)
	}
	return local.Launcher{Host: l.host}.Launch(ctx, s)
}

// Step implements launch.Stepper.
func (Engine) Step(a *launch.Allocation, slot int, name string) []string {
	return a.Launcher.(launcher).of[slot].step(name, a.Slots[slot])
}

// step returns the command that starts a program as a step of one task on a node.
func (p component) step(name string, at launch.Slot) []string {
	out := []string{"srun", "--nodes=1", "--ntasks=1", "--nodelist=" + at.Node, "--job-name=" + name, "--unbuffered", "--kill-on-bad-exit=0"}
	if at.Cores > 0 {
		out = append(out, fmt.Sprintf("--cpus-per-task=%d", at.Cores))
	}
	if p.exact {
		out = append(out, "--exact")
	}
	if p.option != "" {
		out = append(out, p.option)
	}
	return out
}

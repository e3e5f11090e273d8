// Package chaos breaks clusters, to see that nothing is lost. It has runs trained by
// processes of this machine while it kills, freezes, slows, cuts off and takes away those
// processes, the coordinator included, at moments that a seed determines. A synchronous
// run must end in the bits of an undisturbed one; every run must end, with every step
// recorded once; and nothing may hang or be left behind.
package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
)

// Options select the faults to inject, and how.
type Options struct {
	Program string   // the weft to test
	Env     []string // further variables of its environment
	Seed    uint64
	Faults  int           // number of faults to inject
	Time    time.Duration // time after which no more faults are injected; 0 is no limit
	Workers int
	PerRun  int    // faults that a run gets
	Kinds   []Kind // kinds of faults; all if there are none
	Record  int64  // bytes by which a large record is larger; 0 is 64 MiB
	Runs    []Run  // runs to disturb, in turn
	// Namespaces puts every process into a network namespace of its own, with TLS. This process
	// must be in one that Enter made.
	Namespaces bool
	Patience   time.Duration // time without progress after which a run counts as hung
	Bar        time.Duration // within which a run should train again; 0 is none
	Log        func(string)

	until time.Time
}

// Run is something to train.
type Run struct {
	Name   string
	Args   []string // arguments of weft train, without its policy
	Policy []string // flags that distribute it
	// Plain says that it computes what the loop as it stands computes; otherwise it is
	// compared with the same policy within one process.
	Plain bool
	Async bool // it is not repeatable
	// Of an asynchronous run: steps that are asked for, and those of one environment in an
	// iteration.
	Steps, Unit int64
}

// args returns the arguments of weft train.
func (r Run) args(workers int) []string {
	return append(append(append([]string{"train"}, r.Args...), r.Policy...), "--workers", fmt.Sprint(workers))
}

// reference returns the arguments of the undisturbed run.
func (r Run) reference(workers int) []string {
	if r.Plain {
		return append([]string{"train"}, r.Args...)
	}
	return r.args(workers)
}

// Runs returns PPO and A2C, synchronous and asynchronous, and IMPALA, of so many steps for
// each second that they are to take.
func Runs(seconds float64) []Run {
	rounded := func(perSecond float64) int64 { return max(1, int64(seconds*perSecond/2000)) * 2000 }
	args := func(name string, steps int64) []string {
		return []string{name, "--env", "CartPole-v1", "--steps", fmt.Sprint(steps), "--checkpoint-steps", "4000"}
	}
	ppo, a2c := args("ppo", rounded(20_000)), args("a2c", rounded(12_000))
	a3c, impala := rounded(6_000), rounded(12_000)
	return []Run{
		{Name: "ppo-coarse", Args: ppo, Policy: []string{"--policy", "single-learner-coarse"}, Plain: true},
		{Name: "a2c-replicas", Args: a2c, Policy: []string{"--policy", "multi-learner"}},
		{Name: "a3c", Args: args("a2c", a3c), Policy: []string{"--policy", "central", "--async"}, Async: true, Steps: a3c, Unit: 5},
		{Name: "a2c-fine", Args: a2c, Policy: []string{"--policy", "single-learner-fine"}, Plain: true},
		{Name: "ppo-replicas", Args: ppo, Policy: []string{"--policy", "multi-learner"}},
		{Name: "impala", Args: args("impala", impala), Policy: []string{"--policy", "single-learner-coarse", "--async"}, Async: true, Steps: impala, Unit: 20},
	}
}

// Test injects faults until there were enough, and reports. The error is about what kept
// it from doing so; what was found is in the report. Files are kept where anything was.
func Test(ctx context.Context, o Options) (report Report, err error) {
	if err := possible(); err != nil {
		return report, err
	}
	if o.Namespaces && len(NewSchedule(o.Seed, o.Kinds...).Next(1, true)) == 0 {
		return report, fmt.Errorf("no fault of the kinds %q can be injected into network namespaces", o.Kinds)
	}
	dir, err := os.MkdirTemp("", "weft-chaos-")
	if err != nil {
		return report, err
	}
	began := time.Now()
	report = Report{Seed: o.Seed, Workers: o.Workers, Bar: o.Bar.Seconds()}
	defer func() {
		report.Seconds = time.Since(began).Seconds()
		if err == nil && len(report.Violations()) == 0 {
			err = os.RemoveAll(dir)
		} else {
			report.Kept = dir
		}
	}()
	want, err := references(ctx, o, dir)
	if err != nil {
		return report, err
	}
	if o.Time > 0 {
		o.until = time.Now().Add(o.Time)
	}
	schedule := NewSchedule(o.Seed, o.Kinds...)
	for i := 0; report.Faults() < o.Faults && ctx.Err() == nil && (i == 0 || o.until.IsZero() || time.Now().Before(o.until)); i++ {
		t := &trial{Options: o, run: o.Runs[i%len(o.Runs)], want: want[i%len(o.Runs)]}
		t.name = fmt.Sprintf("%03d-%s", i+1, t.run.Name)
		// Sockets, which are the default within a machine, and a network take turns.
		if t.network, err = open(o, filepath.Join(dir, t.name), o.Namespaces || i%2 == 1); err != nil {
			return report, err
		}
		t.result.Run, t.result.Network, t.result.Async = t.run.Name, t.network.name(), t.run.Async
		faults := schedule.Next(min(o.PerRun, o.Faults-report.Faults()), t.network.name() != "sockets")
		report.Trials = append(report.Trials, t.do(ctx, &starter{program: o.Program, env: o.Env, dir: filepath.Join(dir, t.name)}, faults))
		if now := &report.Trials[i]; len(now.Violations) == 0 {
			o.Log(fmt.Sprintf("%s: %d faults, %d epochs, %s", t.name, len(now.Injected), now.Epochs, now.ended()))
			err = os.RemoveAll(filepath.Join(dir, t.name))
		}
		if err != nil {
			return report, err
		}
	}
	return report, ctx.Err()
}

// open opens the network of a trial.
func open(o Options, dir string, wanted bool) (network, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	switch {
	case o.Namespaces:
		return newNamespaces(o.Workers, dir)
	case wanted:
		return newProxies(o.Workers, dir)
	}
	return newSockets(dir)
}

// references runs everything undisturbed, in one process.
func references(ctx context.Context, o Options, dir string) (out []*reference, err error) {
	s := &starter{program: o.Program, env: o.Env, dir: filepath.Join(dir, "references")}
	for _, r := range o.Runs {
		if r.Async {
			out = append(out, nil)
			continue
		}
		o.Log(r.Name + ": undisturbed")
		w := &reference{}
		p, err := s.run(r.Name, append(r.reference(o.Workers), "--out", r.Name, "--json"), func(p *process) {
			context.AfterFunc(ctx, func() { p.Signal(sigKill) })
		}, func(line string) { _ = json.Unmarshal([]byte(line), &w.ended) })
		if err == nil && (p.err != nil || w.Event != "done") {
			err = fmt.Errorf("%w: %s", errors.Join(p.err, ctx.Err()), p.tail())
		}
		if err == nil {
			w.rows, err = metrics.ReadJSONL(filepath.Join(s.dir, r.Name, "metrics.jsonl"))
		}
		if err != nil {
			return nil, fmt.Errorf("%s, undisturbed: %w", r.Name, err)
		}
		out = append(out, w)
	}
	return out, nil
}

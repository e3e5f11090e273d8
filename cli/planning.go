package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	children "github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/guest"
	"github.com/weft-rl/weft/internal/run/scratch"
	"github.com/weft-rl/weft/plan"
)

// planner plans runs for a coordinator. To plan a run its trainer and environments are constructed,
// and its policy is asked: code that a submission chooses, and that may hang, crash or take all
// memory. So it runs in a process of its own, which is killed when it takes too long or too much.
// What was found out about a configuration is remembered, so that to plan again is quick.
type planner struct {
	limit  time.Duration // longest time for a plan
	memory int64         // bytes that a process and its children may have; 0 is no limit
	allow  []string      // files and folders that submitted runs may name
	room   chan struct{} // slots for constructing what was never planned before

	mu    sync.Mutex
	known []remembered // the newest last
}

// remembered caches the plan.Problem of a configuration, in JSON.
type remembered struct {
	config  string
	problem json.RawMessage
}

const (
	maxRemembered = 16
	maxSurveys    = 8 // most surveys of new runs at a time; runs that have begun never wait
)

func newPlanner(limit time.Duration, memory int64, allow []string) *planner {
	return &planner{limit: limit, memory: memory, allow: allow, room: make(chan struct{}, maxSurveys)}
}

// question holds a request to a planner's process.
type question struct {
	Version int             `json:"version"`
	Config  string          `json:"config"`
	Cluster plan.Cluster    `json:"cluster"`
	Shards  int             `json:"shards"`
	Problem json.RawMessage `json:"problem,omitempty"` // if it is known
	Allow   []string        `json:"allow,omitempty"`   // files and folders that the run may name
}

// answer holds the process's reply.
type answer struct {
	Version int             `json:"version"`
	Plan    plan.Plan       `json:"plan"`
	Problem json.RawMessage `json:"problem,omitempty"`
	Error   string          `json:"error,omitempty"`
	Short   bool            `json:"short,omitempty"`
}

// plan implements coordinator.Planner.
func (p *planner) plan(ctx context.Context, program, text string, c plan.Cluster, shards int) (plan.Plan, error) {
	known := filepath.Base(program) + "\n" + text // a program that was brought is named by its hash
	q := question{Version: guest.Version, Config: text, Cluster: c, Shards: shards, Problem: p.recall(known), Allow: p.allow}
	if q.Problem == nil && shards == 0 {
		select {
		case p.room <- struct{}{}:
			defer func() { <-p.room }()
		case <-ctx.Done():
			return plan.Plan{}, context.Cause(ctx)
		}
	}
	a, err := p.ask(ctx, program, q)
	if err != nil {
		return plan.Plan{}, err
	}
	p.remember(known, a.Problem)
	if a.Short {
		return plan.Plan{}, fmt.Errorf("%w: %s", coordinator.ErrShort, strings.TrimPrefix(a.Error, coordinator.ErrShort.Error()+": "))
	}
	if a.Error != "" {
		return plan.Plan{}, errors.New(a.Error)
	}
	return a.Plan, nil
}

func (p *planner) recall(config string) json.RawMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.known {
		if k.config == config {
			return k.problem
		}
	}
	return nil
}

func (p *planner) remember(config string, problem json.RawMessage) {
	if problem == nil || p.recall(config) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = append(p.known, remembered{config, problem})
	p.known = p.known[max(0, len(p.known)-maxRemembered):]
}

// ask has a process of a program, this one if none is named, answer a question. The answer comes
// by a file, since what a submission makes may print anything; the file is in the process's folder
// of temporary files, which goes with it.
func (p *planner) ask(ctx context.Context, program string, q question) (a answer, err error) {
	brought := program != ""
	if !brought {
		if program, err = self(); err != nil {
			return a, err
		}
	}
	text, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	folder, err := scratch.New("weft-plan-")
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	file := filepath.Join(folder.Path, "answer.json")
	ctx, cancel := context.WithTimeoutCause(ctx, p.limit, fmt.Errorf("its trainer and environments were not constructed within %v (--plan-time of weft coordinator)", p.limit))
	defer cancel()
	cmd := exec.Command(program, plannerCommand, file)
	if cmd.Env = append(os.Environ(), "TMPDIR="+folder.Path); brought {
		cmd.Env = guest.Environment(nil, folder.Path)
	}
	if err := p.run(ctx, cmd, text); err != nil {
		return a, fmt.Errorf("planning failed: %w", err)
	}
	info, err := os.Stat(file)
	if err == nil && info.Size() > maxAnswer {
		err = fmt.Errorf("the plan has %d bytes; the limit is %d", info.Size(), int64(maxAnswer))
	}
	if err == nil {
		text, err = os.ReadFile(file)
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err == nil && brought && a.Version != guest.Version {
		err = fmt.Errorf("program %.12s speaks version %d of the protocol of programs that runs bring, and the coordinator version %d: build it with the coordinator's weft, or upgrade that", filepath.Base(program), a.Version, guest.Version)
	}
	return a, err
}

// maxAnswer bounds what is read of a planner's process.
const maxAnswer = 64 << 20

// run runs a planner's process to its end, or until ctx is done or it has too much memory. Its
// children end with it.
func (p *planner) run(ctx context.Context, cmd *exec.Cmd, input []byte) error {
	runtime.LockOSThread() // the kernel ends a process with the thread that started it
	defer runtime.UnlockOSThread()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var said children.Tail
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &said, &said
	cmd.WaitDelay = time.Second // for children that hold its output
	children.Bind(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { children.EndGroup(cmd) })
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() { p.watch(cmd.Process.Pid, over, cancel) })
	err := cmd.Wait()
	stop()
	children.EndGroup(cmd)
	close(over)
	watch.Wait()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if text := strings.TrimSpace(said.String()); err != nil && text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// watch ends a process that has more memory than it may.
func (p *planner) watch(pid int, over <-chan struct{}, end context.CancelCauseFunc) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for p.memory > 0 {
		select {
		case <-over:
			return
		case <-ticker.C:
		}
		if has := children.Resident(pid); has > p.memory {
			end(fmt.Errorf("its trainer and environments use %.1f GiB of memory; the limit is %.1f, half of the coordinator's machine", gib(has), gib(p.memory)))
			return
		}
	}
}

// plannerCommand is the command that is a planner's process.
const plannerCommand = "planner"

func (c *command) planner() *cobra.Command {
	return &cobra.Command{
		Use:    plannerCommand + " FILE",
		Short:  "Plan a run for a coordinator",
		Long:   "Planner reads a coordinator's planning request from standard input and writes the plan to a file.",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			c.started = true
			text, err := io.ReadAll(os.Stdin)
			if err != nil {
				return err
			}
			var q question
			if err := json.Unmarshal(text, &q); err != nil {
				return err
			}
			if text, err = json.Marshal(answerTo(&c.set, q)); err != nil {
				return err
			}
			return os.WriteFile(args[0], text, 0o600)
		},
	}
}

// answerTo answers a coordinator's question.
func answerTo(s *request.Set, q question) (a answer) {
	defer func() {
		if x := recover(); x != nil {
			a = answer{Version: guest.Version, Error: fmt.Sprintf("panic: %v\n%s", x, debug.Stack())}
		}
	}()
	var err error
	a.Version = guest.Version
	if a.Plan, a.Problem, err = plannedFor(s, q); err != nil {
		a.Error, a.Short = err.Error(), errors.Is(err, coordinator.ErrShort)
	}
	return a
}

// plannedFor plans a run, and finds out what there is to plan for unless that is known.
func plannedFor(s *request.Set, q question) (p plan.Plan, problem json.RawMessage, err error) {
	r, err := s.Requested(q.Config)
	if err == nil {
		r.From = "" // only workers read it
		err = r.Confine(request.Confinement{Programs: q.Allow})
	}
	if err != nil {
		return p, nil, err
	}
	var on plan.Problem
	if problem = q.Problem; problem != nil {
		err = json.Unmarshal(problem, &on)
	} else if on, err = r.ToPlan(); err == nil {
		problem, err = json.Marshal(on)
	}
	if err != nil {
		return p, nil, err
	}
	p, err = planOn(r, on, q.Cluster, q.Shards)
	return p, problem, err
}

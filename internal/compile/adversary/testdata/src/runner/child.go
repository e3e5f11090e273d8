package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"

	"github.com/weft-rl/weft/internal/compile/adversary/testdata/src/job"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/replicas"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// order asks the child process for its part of a leg.
type order struct {
	Job     job.Job
	Leg     job.Leg
	Epoch   int64
	Workers []part.Worker
}

// child is the second process, which lives as long as this one.
type child struct {
	node    *mesh.Node
	workers []part.Worker
	orders  io.Writer
	answers *bufio.Reader
	epoch   int64
}

var theChild *child

// other returns the second process, and starts it on first use.
func other() (*child, error) {
	if theChild != nil {
		return theChild, nil
	}
	node, err := mesh.Listen("127.0.0.1:0", mesh.Options{Secret: "adversary"})
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, "child")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{node: node, orders: in, answers: bufio.NewReader(out)}
	var address string
	if err := c.hear(&address); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	c.workers = []part.Worker{{Name: "a", Data: node.Address(), Host: host}, {Name: "b", Data: address, Host: host}}
	theChild = c
	return c, nil
}

func (c *child) hear(into any) error {
	line, err := c.answers.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("the second process is gone: %w", err)
	}
	return json.Unmarshal(line, into)
}

// along runs this process's part of a leg beside the child's.
func (c *child) along(j job.Job, leg job.Leg, p plan.Plan, w *replicas.World) error {
	c.epoch++
	if err := json.NewEncoder(c.orders).Encode(order{j, leg, c.epoch, c.workers}); err != nil {
		return err
	}
	err := among(c.node, order{j, leg, c.epoch, c.workers}, 0, p, w)
	var answer string
	if gone := c.hear(&answer); gone != nil {
		return errors.Join(err, gone)
	}
	if err == nil && answer != "" {
		err = fmt.Errorf("second process: %s", answer)
	}
	return err
}

// among trains while this process's replicas are connected with the other one's.
func among(node *mesh.Node, o order, me int, p plan.Plan, w *replicas.World) error {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	w.Abort = ctx
	g := mesh.Group{Run: "adversary", Epoch: o.Epoch, Workers: o.Workers, Me: me, Links: w.Links(), Device: w.Devices()[0], Failed: stop}
	for _, group := range p.Groups {
		if group.Name == p.Owner {
			g.Hub = len(g.Homes)
		}
		for _, r := range p.Of(group.Name) {
			g.Homes = append(g.Homes, home(p, r))
		}
	}
	s, err := node.Join(ctx, g)
	if err != nil {
		return err
	}
	if err = w.Train(ctx); err != nil && !errors.Is(err, replicas.ErrEnded) {
		s.Abort(err)
		return err
	}
	return s.Close()
}

// home returns the process of a replica: the one that decides is in the first.
func home(p plan.Plan, r plan.Replica) int {
	return (r.Worker + p.Of(p.Owner)[0].Worker) % 2
}

// here reports which replicas are process me's.
func here(p plan.Plan, me int) func(plan.Replica) bool {
	return func(r plan.Replica) bool { return home(p, r) == me }
}

// splits reports whether both processes have replicas of a plan.
func splits(p plan.Plan) bool {
	return len(p.Groups) > 0 && slices.ContainsFunc(p.Replicas, here(p, 0)) && slices.ContainsFunc(p.Replicas, here(p, 1))
}

// serve is the child process: it carries out orders until there are no more.
func serve() {
	node, err := mesh.Listen("127.0.0.1:0", mesh.Options{Secret: "adversary"})
	if err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(node.Address()); err != nil {
		panic(err)
	}
	for in := json.NewDecoder(os.Stdin); ; {
		var o order
		if err := in.Decode(&o); err != nil {
			return
		}
		answer := ""
		if err := rl.Catch(func() error { return follow(node, o) }); err != nil {
			answer = err.Error()
		}
		if err := out.Encode(answer); err != nil {
			return
		}
	}
}

// follow runs the child's part of a leg.
func follow(node *mesh.Node, o order) error {
	r := &running{job: o.Job, leg: o.Leg, out: &job.Outcome{}}
	c, err := r.config()
	if err != nil {
		return err
	}
	c.Here = here(c.Plan, 1)
	w, err := replicas.New(c)
	if err != nil {
		return err
	}
	return errors.Join(among(node, o, 1, c.Plan, w), w.Close())
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/mesh/selfsigned"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/rl"
)

// carried holds two replicas with an edge in each direction.
type carried struct {
	spec   EdgeSpec
	links  [2]edge.Link
	x      rl.Tensor
	ctx    context.Context
	stop   context.CancelFunc
	answer sync.WaitGroup
	leave  []func()
}

// openEdge opens an edge of Weft on a way.
func openEdge(way string, s EdgeSpec) (program, error) {
	d, err := device.Open(device.Default)
	if err != nil {
		return nil, err
	}
	c := &carried{spec: s}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.x = rl.FromFlat(rl.NewScope(d, 1), make([]float32, s.Bytes/4), s.Bytes/4)
	if way == "channel" {
		l := newLinks(c.spec)
		c.links = [2]edge.Link{l.Link(0), l.Link(1)}
	} else if err := c.join(way, d); err != nil {
		c.Close()
		return nil, err
	}
	c.answer.Go(c.reply)
	return c, nil
}

func newLinks(s EdgeSpec) *edge.Local {
	n := max(edgeQueue, edgeWindow/s.Bytes)
	return edge.NewLocal(2, []int{n, n})
}

// join connects two nodes as if they were in two processes.
func (c *carried) join(way string, d *rl.Device) error {
	o := mesh.Options{NoSocket: way != "unix" && way != "memory", NoMemory: way == "unix"}
	if way == "tls" {
		var err error
		if o.TLS, err = selfsigned.Config(); err != nil {
			return err
		}
	}
	g := mesh.Group{Run: "bench", Homes: []int{0, 1}, Device: d}
	var nodes [2]*mesh.Node
	for i := range nodes {
		n, err := mesh.Listen("127.0.0.1:0", o)
		if err != nil {
			return err
		}
		c.leave = append(c.leave, func() { _ = n.Close() }) // nothing is kept there
		nodes[i] = n
		g.Workers = append(g.Workers, part.Worker{Name: fmt.Sprint(i), Data: n.Address(), Host: "here"})
	}
	var errs [2]error
	var all sync.WaitGroup
	for i, n := range nodes {
		l := newLinks(c.spec)
		mine := g
		mine.Me, mine.Links = i, l
		c.links[i] = l.Link(i)
		all.Go(func() { _, errs[i] = n.Join(c.ctx, mine) }) // Close ends its session
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// reply receives messages and answers those that ask for it.
func (c *carried) reply() {
	back := c.x
	if c.spec.Burst > 1 {
		back = rl.Scalar(1)
	}
	for {
		last, err := take(c.ctx, c.links[1])
		if err == nil && last {
			err = c.links[1].Send(c.ctx, 0, edge.Message{Edge: 1, Value: back})
		}
		if err != nil {
			return // it is closed
		}
	}
}

// take receives a message as a program does, and reports whether the sender waits for an answer.
func take(ctx context.Context, l edge.Link) (last bool, err error) {
	m, err := l.Next(ctx)
	if err != nil {
		return false, err
	}
	edge.As[rl.Tensor](m.Value)
	l.Took(m)
	return m.Iter == 1, nil
}

// Run sends a burst and waits for the answer.
func (c *carried) Run() error {
	for i := range c.spec.Burst {
		m := edge.Message{Value: c.x}
		if i == c.spec.Burst-1 {
			m.Iter = 1
		}
		if err := c.links[0].Send(c.ctx, 1, m); err != nil {
			return err
		}
	}
	_, err := take(c.ctx, c.links[0])
	return err
}

func (c *carried) Close() {
	c.stop()
	c.answer.Wait()
	for _, f := range c.leave {
		f()
	}
}

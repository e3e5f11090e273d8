package bench

import (
	"context"
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/weft-rl/weft/engine"
)

// The interfaces by which a graph is run on a backend.
const (
	pathLean    = "lean"    // engine.Call: inputs bound, outputs reused
	pathExecute = "Execute" // compute.Executable.Execute on buffers
	pathExec    = "Exec"    // GoMLX's graph.Exec on tensors
)

// gomlx returns a contender that runs workloads as GoMLX graphs on a backend.
func gomlx(name, path string, threads int, open func(threads int) (compute.Backend, error)) Contender {
	label := Label{Name: name, Path: path}
	if threads > 0 {
		label.Path = onThreads(threads)
	}
	return &inProcess{label: label, make: func(_ context.Context, c Case) (program, error) {
		w, err := c.Spec.(Workload).on(threads)
		if err != nil {
			return nil, err
		}
		if path == pathExec && (w.Kind != "mlp" || w.Pass != "forward") {
			return nil, errNoPart // what Exec costs is the same everywhere
		}
		b, err := open(threads)
		if err != nil {
			return nil, err
		}
		p, err := w.compile(b, path)
		if err != nil {
			b.Finalize()
			return nil, err
		}
		return p, nil
	}}
}

func (w Workload) compile(b compute.Backend, path string) (p program, err error) {
	if path == pathExec {
		return w.exec(b)
	}
	g := NewGraph(b, "bench")
	defer func() {
		if x := recover(); x != nil { // GoMLX panics where a graph cannot be built
			g.Finalize()
			p, err = nil, fmt.Errorf("building the graph: %v", x)
		}
	}()
	var params []*Node
	var inputs []compute.Buffer
	for i, a := range w.args() {
		s := shapes.Make(dtypes.Float32, a.Dims...)
		params = append(params, Parameter(g, fmt.Sprint("x", i), s))
		buf, err := b.BufferFromFlatData(0, a.values(i), s)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, buf)
	}
	if err := g.Compile(w.graph(params)...); err != nil {
		return nil, err
	}
	on := owner{b, g}
	if path == pathLean {
		return w.lean(on, inputs)
	}
	return w.execute(on, inputs), nil
}

// owner holds what a program releases when it is closed.
type owner struct {
	backend compute.Backend
	graph   *Graph
}

func (o owner) Close() {
	if o.graph != nil {
		o.graph.Finalize()
	}
	o.backend.Finalize()
}

// lean runs bound calls in turn: one, or, if outputs become inputs, two whose outputs are each
// other's inputs.
type lean struct {
	owner
	calls []*engine.Call
	next  int
}

func (w Workload) lean(on owner, inputs []compute.Buffer) (*lean, error) {
	exec, ok := on.graph.Executable().(*engine.Executable)
	if !ok {
		return nil, fmt.Errorf("backend %s has no lean path", on.backend.Name())
	}
	first, err := exec.Bind(inputs, nil)
	if err != nil {
		return nil, err
	}
	l := &lean{owner: on, calls: []*engine.Call{first}}
	if !w.feeds() {
		return l, nil
	}
	outs := first.Outputs()
	back, err := exec.Bind(append(inputs[:1:1], outs[1:]...), append(outs[:1:1], inputs[1:]...))
	l.calls = append(l.calls, back)
	return l, err
}

func (l *lean) Run() error {
	c := l.calls[l.next]
	l.next = (l.next + 1) % len(l.calls)
	return c.Run()
}

func (l *lean) Close() {
	for _, c := range l.calls {
		c.Close()
	}
	l.owner.Close()
}

// execute runs an executable on buffers.
type execute struct {
	owner
	exec   compute.Executable
	inputs []compute.Buffer
	donate []bool
	outs   []compute.Buffer
}

func (w Workload) execute(on owner, inputs []compute.Buffer) *execute {
	x := &execute{owner: on, exec: on.graph.Executable(), inputs: inputs, donate: make([]bool, len(inputs))}
	for i := range x.donate {
		x.donate[i] = i > 0 && w.feeds()
	}
	return x
}

func (x *execute) Run() (err error) {
	for i, o := range x.outs {
		if x.donate[i] {
			x.inputs[i] = o
			continue
		}
		if err := o.Finalize(); err != nil {
			return err
		}
	}
	x.outs, err = x.exec.Execute(x.inputs, x.donate, 0)
	return err
}

// viaExec runs a graph function on tensors, as a user of GoMLX would.
type viaExec struct {
	owner
	exec *Exec
	args []any
	outs []*tensors.Tensor
}

func (w Workload) exec(b compute.Backend) (*viaExec, error) {
	exec, err := NewExec(b, w.graph)
	if err != nil {
		return nil, err
	}
	x := &viaExec{owner: owner{backend: b}, exec: exec}
	for i, a := range w.args() {
		x.args = append(x.args, tensors.FromFlatDataAndDimensions(a.values(i), a.Dims...))
	}
	return x, nil
}

func (x *viaExec) Run() (err error) {
	for _, o := range x.outs {
		if err := o.FinalizeAll(); err != nil {
			return err
		}
	}
	x.outs, err = x.exec.Call(x.args...)
	return err
}

func (x *viaExec) Close() {
	x.exec.Finalize()
	x.owner.Close()
}

// Package record is the compute.Builder that GoMLX builds into: it records what it is told as an
// ir.Module and hands that to a compile function, which may run it on this machine or write it out
// for another.
//
// GoMLX hangs every closure off the main function, wherever it is written. The recorder therefore
// does not ask who a closure's parent is. A value of another function that is still being built is
// captured; the node that runs the closure (While, If, Sort) passes it, and if that node is itself
// in a closure that does not own the value, captures it there as well. So control flow nests to any
// depth. A value of a function that has already returned, such as a scalar GoMLX cached while it
// built a loop body, is recorded once more where it is used, which is possible as long as it does
// not depend on that function's parameters.
//
// The methods of elementwise operations, reductions and scatters are generated from the table of
// operations.
package record

//go:generate go run ./gen

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
)

// Compile turns a finished module into something that runs.
type Compile func(*ir.Module) (compute.Executable, error)

// Builder records one computation.
type Builder struct {
	notimplemented.Builder
	compile  Compile
	module   *ir.Module
	main     *Function
	named    map[string]*Function
	compiled bool
}

var _ compute.Builder = (*Builder)(nil)

// New returns an empty builder; its Compile method calls compile.
func New(name string, compile Compile) *Builder {
	b := &Builder{compile: compile, module: &ir.Module{Name: name}, named: map[string]*Function{}}
	b.main = b.newFunction(compute.MainName, nil)
	b.module.Main = b.main.fn
	return b
}

func (b *Builder) newFunction(name string, parent *Function) *Function {
	f := &Function{b: b, parent: parent, fn: &ir.Func{Name: name}, imported: map[*ir.Value]*ir.Value{}}
	f.ErrFn = func(op compute.OpType) error { return fmt.Errorf("%s: %w", op, compute.ErrNotImplemented) }
	return f
}

// Name implements compute.Builder.
func (b *Builder) Name() string { return b.module.Name }

// Main implements compute.Builder.
func (b *Builder) Main() compute.Function { return b.main }

// NewFunction implements compute.Builder.
func (b *Builder) NewFunction(name string) (compute.Function, error) {
	if name == "" || name == compute.MainName || b.named[name] != nil {
		return nil, fmt.Errorf("function name %q is empty or taken", name)
	}
	f := b.newFunction(name, nil)
	b.named[name] = f
	b.module.Funcs = append(b.module.Funcs, f.fn)
	return f, nil
}

// OpShape implements compute.Builder.
func (b *Builder) OpShape(op compute.Value) (shapes.Shape, error) { return b.main.Shape(op) }

// DistributedSPMD implements compute.Builder: the computation runs on so many devices at once.
func (b *Builder) DistributedSPMD(devices int) error {
	if devices < 1 {
		return fmt.Errorf("a computation on %d devices", devices)
	}
	b.module.Replicas = devices
	return nil
}

// DistributedAutoSharding implements compute.Builder: the computation is one whose values are
// shared out among the devices of a mesh, which has one axis. It comes before any parameter.
func (b *Builder) DistributedAutoSharding(meshes ...compute.Mesh) error {
	if len(meshes) != 1 || len(meshes[0].AxesSizes) != 1 || meshes[0].AxesSizes[0] < 1 || len(meshes[0].LogicalDeviceAssignment) > 0 {
		return fmt.Errorf("a computation on meshes %v: want one, with one axis and devices in order: %w", meshes, compute.ErrNotImplemented)
	}
	b.module.Split = &ir.Split{Devices: meshes[0].AxesSizes[0]}
	return nil
}

// cut returns the axis along which a value is shared out among devices.
func (b *Builder) cut(spec *compute.ShardingSpec, shape shapes.Shape) (int, error) {
	if spec == nil {
		return ir.Whole, nil
	}
	at, n := ir.Whole, b.module.Over()
	for axis, names := range spec.Axes {
		switch {
		case len(names) == 0:
		case b.module.Split == nil:
			return at, fmt.Errorf("sharding: the computation is not on several devices: %w", compute.ErrNotImplemented)
		case at != ir.Whole || axis >= shape.Rank() || shape.Dimensions[axis]%n != 0:
			return at, fmt.Errorf("sharding %v of %s: want one axis, of a multiple of %d: %w", spec.Axes, shape, n, compute.ErrNotImplemented)
		default:
			at = axis
		}
	}
	return at, nil
}

// DeviceAssignment implements compute.Builder. The backend sees whether it has these devices.
func (b *Builder) DeviceAssignment(devices ...compute.DeviceNum) error {
	if len(devices) != b.module.Over() {
		return fmt.Errorf("device assignment %v: want %d devices", devices, b.module.Over())
	}
	b.module.Devices = nil
	for _, d := range devices {
		b.module.Devices = append(b.module.Devices, int(d))
	}
	return nil
}

// Compile implements compute.Builder.
func (b *Builder) Compile() (compute.Executable, error) {
	if b.compiled {
		return nil, fmt.Errorf("computation %q was compiled before", b.Name())
	}
	if !b.main.returned {
		return nil, fmt.Errorf("computation %q: main has no Return", b.Name())
	}
	if len(b.main.sources) > 0 {
		v := b.main.sources[0]
		return nil, fmt.Errorf("computation %q: main uses the result of a %s of a closure, out of its scope", b.Name(),
			v.Node.Op)
	}
	b.compiled = true
	return b.compile(b.module)
}

// Module returns what has been recorded.
func (b *Builder) Module() *ir.Module { return b.module }

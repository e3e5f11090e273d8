//go:build xla

package pjrt

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/stablehlo"
)

// learner records a step of data-parallel learning: weights move by the mean of what all devices
// have, inside a loop of so many rounds. It returns the weights, and what this device's rows alone
// sum to.
func learner(t *testing.T, b compute.Builder, devices, rounds int) {
	t.Helper()
	if err := b.DistributedSPMD(devices); err != nil {
		t.Fatal(err)
	}
	v := func(x compute.Value, err error) compute.Value {
		t.Helper()
		if err != nil {
			t.Fatalf("%+v", err)
		}
		return x
	}
	index := shapes.Make(dtypes.Int32)
	f := b.Main()
	w, x := v(f.Parameter("w", vector, nil)), v(f.Parameter("x", shapes.Make(dtypes.Float32, 3, 4), nil))
	cond, err := f.Closure()
	if err != nil {
		t.Fatal(err)
	}
	i := v(cond.Parameter("i", index, nil))
	v(cond.Parameter("w", vector, nil))
	more := v(cond.LessThan(i, v(cond.Constant([]int32{int32(rounds)}))))
	body, err := f.Closure()
	if err != nil {
		t.Fatal(err)
	}
	j, state := v(body.Parameter("i", index, nil)), v(body.Parameter("w", vector, nil))
	sums, err := body.AllReduce([]compute.Value{v(body.ReduceSum(x, 0))}, compute.ReduceOpSum, nil)
	if err != nil {
		t.Fatal(err)
	}
	for fn, results := range map[compute.Function][]compute.Value{cond: {more},
		body: {v(body.Add(j, v(body.Constant([]int32{1})))), v(body.Add(state, sums[0]))}} {
		if err := fn.Return(results, nil); err != nil {
			t.Fatal(err)
		}
	}
	outs, err := f.While(cond, body, v(f.Constant([]int32{0})), w)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Return([]compute.Value{outs[1], v(f.ReduceSum(x))}, nil); err != nil {
		t.Fatal(err)
	}
}

// TestReplicas: one program on several devices, whose gradients are summed by XLA's own
// collectives.
func TestReplicas(t *testing.T) {
	b := backend(t)
	n := b.NumDevices()
	if n < 2 && *kind != "cpu" {
		t.Skip("there is one GPU")
	}
	builder := b.Builder("replicas")
	learner(t, builder, n, 2)
	exec, err := builder.Compile()
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	e := exec.(*Executable)
	var inputs []compute.Buffer
	total := float32(0)
	for d := range n {
		rows := make([]float32, 12)
		for i := range rows {
			rows[i] = float32(d + 1)
		}
		total += 3 * float32(d+1)
		for i, flat := range [][]float32{{1, 1, 1, 1}, rows} {
			buf, err := b.BufferFromFlatData(compute.DeviceNum(d), flat, e.ins[i])
			if err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, buf)
		}
	}
	check := func(outs []compute.Buffer, rounds int) {
		t.Helper()
		for d := range n {
			want := 1 + float32(2*rounds)*total
			if got := get(t, outs[2*d]); !slices.Equal(got, []float32{want, want, want, want}) {
				t.Errorf("device %d has %v, want %v", d, got, want)
			}
			if got := get(t, outs[2*d+1]); got[0] != float32(12*(d+1)) {
				t.Errorf("device %d's own sum is %v", d, got)
			}
			if num, err := outs[2*d].DeviceNum(); int(num) != d || err != nil {
				t.Errorf("output of device %d is on %d (%v)", d, num, err)
			}
		}
	}
	outs, err := e.Execute(inputs, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	check(outs, 1)
	call, err := e.Bind(inputs, Carry{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := call.Run(); err != nil {
			t.Fatal(err)
		}
		check(call.Outputs(), i+1)
	}
	if err := call.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestTooManyReplicas: devices that are not there are an error, as is a collective on one device.
func TestTooManyReplicas(t *testing.T) {
	b := backend(t)
	builder := b.Builder("replicas")
	learner(t, builder, b.NumDevices()+1, 1)
	if _, err := builder.Compile(); err == nil || !strings.Contains(err.Error(), "device") {
		t.Errorf("error %v", err)
	}
	f := b.Builder("alone").Main()
	x, err := f.Parameter("x", vector, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.AllReduce([]compute.Value{x}, compute.ReduceOpSum, nil); err == nil {
		t.Error("a collective on one device")
	}
	if !stablehlo.Supports(compute.OpTypeAllReduce) {
		t.Error("AllReduce is not supported")
	}
	engine := cpu(t).Builder("replicas")
	learner(t, engine, 2, 1)
	if _, err := engine.Compile(); !compute.IsNotImplemented(err) {
		t.Errorf("the CPU engine on two devices: %v", err)
	}
}

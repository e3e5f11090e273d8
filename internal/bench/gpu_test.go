package bench

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

// TestPrecisions: on a GPU there are two rows of Weft's, with a precision in the device's name or
// on another device there is one, and others when they are asked for, each on the device that has
// it.
func TestPrecisions(t *testing.T) {
	for _, c := range []struct {
		on, asked, want string
	}{
		{"cuda", "", "cuda+tf32 cuda"},
		{"cuda:1", "", "cuda:1+tf32 cuda:1"},
		{"cuda+bf16", "", "cuda+bf16"},
		{"xla:cpu", "", "xla:cpu"},
		{"cuda", "bf16,float32", "cuda+bf16 cuda"},
		{"xla:cpu", "bf16", "xla:cpu+bf16"},
	} {
		var ran []string
		o := Options{Count: 1, Quick: true, Only: []string{"weft"}, On: c.on, Device: func(ctx context.Context, _ GPUSpec, device string, after func()) error {
			ran = append(ran, device)
			for ctx.Err() == nil {
				after()
			}
			return ctx.Err()
		}}
		if c.asked != "" {
			o.Precisions = strings.Split(c.asked, ",")
		}
		b := GPU
		b.turn = turn{1, 1}
		if err := b.Check(o); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := Run(t.Context(), b, o, Table(&out)); err != nil {
			t.Fatal(err)
		}
		if want := strings.Fields(c.want); !slices.Equal(ran, want) {
			t.Errorf("on %s with %q: %q, want %q\n%s", c.on, c.asked, ran, want, out.String())
		}
		for _, p := range o.Precisions {
			if !strings.Contains(out.String(), p) {
				t.Errorf("no row of %s in\n%s", p, out.String())
			}
		}
	}
}

func TestNoSuchPrecision(t *testing.T) {
	tag, err := GPU.Table("tag")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		b        Benchmark
		on, want string
	}{
		{GPU, "xla:cpu", `device xla:cpu has no "tf32"`},
		{GPU, "cpu", `device cpu has no "tf32"`},
		{GPU, "cuda+bf16", "device cuda+bf16 has one in its name"},
		{tag, "cuda", "gpu tag has no rows"},
	} {
		err := c.b.Check(Options{On: c.on, Precisions: []string{"tf32"}})
		if err == nil || !strings.Contains(err.Error(), "--precision: "+c.want) {
			t.Errorf("%s on %s: error %v", c.b.Name, c.on, err)
		}
	}
}

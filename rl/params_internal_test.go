package rl

import (
	"slices"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/ml/model"
)

// watched is a buffer that tells when it was given back.
type watched struct {
	compute.Buffer
	gone bool
}

func (w *watched) Finalize() error {
	w.gone = true
	return w.Buffer.Finalize()
}

// TestParamsMemory: what an optimiser replaces is used again, unless somebody was
// given it.
func TestParamsMemory(t *testing.T) {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	s := NewScope(NewDevice(b), 1)
	make := func(name string) *Params {
		return NewParams(s, name, func(_ *Ctx, sc *model.Scope) {
			sc.VariableWithShape("w", shapes.Make(dtypes.Float32, 3))
		})
	}
	values := func(x float32) []Tensor { return []Tensor{FromFlat(s, []float32{x, x, x}, 3)} }
	p, q := make("p"), make("q")
	for _, tt := range []struct {
		name string
		lend func()
		kept bool
	}{
		{"nobody", func() {}, false},
		{"tensors", func() { p.Tensors() }, true},
		{"state", func() { p.Save(NewState(s)) }, true},
		{"a copy", func() { q.Blend(p, 1) }, true},
		{"from a copy", func() { p.Blend(q, 1) }, true},
		{"nobody again", func() {}, false},
	} {
		p.update(values(1))
		tt.lend()
		old := p.cells[0].value
		w := &watched{Buffer: old.val.buf}
		old.val.buf = w
		p.update(values(2))
		if w.gone == tt.kept {
			t.Errorf("%s: given back is %v", tt.name, w.gone)
		}
	}
	if got := Read[float32](q.Tensors()[0]); !slices.Equal(got, []float32{1, 1, 1}) {
		t.Errorf("the copy is %v", got)
	}
}

package rl_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/weft-rl/weft/rl"
)

func scope(t testing.TB) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

type sgd struct{}

func (sgd) Slots() []string { return nil }
func (sgd) Update(p, g []*graph.Node, s [][]*graph.Node, lr, count *graph.Node) ([]*graph.Node, [][]*graph.Node) {
	var out []*graph.Node
	for i := range p {
		out = append(out, graph.Sub(p[i], graph.Mul(lr, g[i])))
	}
	return out, s
}

type xy struct{ X, Y rl.Tensor }

func TestSmoke(t *testing.T) {
	s := scope(t)
	w := func(sc *model.Scope) *model.Variable {
		return sc.VariableWithShape("w", shapes.Make(dtypes.Float32, 2, 1))
	}
	p := rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) { w(sc).NodeValue(c.Graph()) })
	f := rl.NewFunc(s, "f", func(c *rl.Ctx, in xy) rl.Tensor {
		return rl.Wrap(graph.Add(graph.MatMul(in.X.Node(), w(c.Scope(p)).NodeValue(c.Graph())), c.Uniform("u", 2, 1)))
	})
	l := rl.NewLoss(s, "l", func(c *rl.Ctx, in xy) (loss, weight rl.Tensor, aux rl.Tensor) {
		d := graph.Sub(graph.MatMul(in.X.Node(), w(c.Scope(p)).NodeValue(c.Graph())), in.Y.Node())
		return rl.Wrap(graph.Square(d)), rl.Tensor{}, rl.Wrap(d)
	}, p)
	o := rl.NewOpt(s, "o", sgd{}, p)
	x := rl.FromFlat(s, []float32{1, 0, 0, 1}, 2, 2)
	y := rl.FromFlat(s, []float32{3, 4}, 2, 1)
	for range 100 {
		g, _ := l.Grad(rl.Key{}, xy{x, y})
		o.Apply(g, .5)
	}
	t.Log(rl.Read[float32](p.Tensors()[0]), rl.Read[float32](f.Call(s.Key("z"), xy{X: x})))
}

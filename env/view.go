package env

import (
	"image"
	"io"

	"github.com/weft-rl/weft/rl"
)

// Environments may be more than a Batch or Groups. What they are besides is found
// through all that stands around them: the guard, wrappers, views.

// Find is x as a T, or the first of what it stands around that is one: whoever
// stands around another has a method Unwrap() any.
func Find[T any](x any) (t T, ok bool) {
	for {
		if t, ok = x.(T); ok {
			return t, true
		}
		u, more := x.(interface{ Unwrap() any })
		if !more {
			return t, false
		}
		x = u.Unwrap()
	}
}

// Close gives back what environments hold: goroutines, processes, files.
func Close(x any) error {
	if c, ok := Find[io.Closer](x); ok {
		return c.Close()
	}
	return nil
}

// Limiter is environments whose episodes can be given another limit.
type Limiter interface {
	// SetLimit sets the steps after which episodes are truncated. It is called
	// before the first observation is asked for, at most once.
	SetLimit(n int)
}

// Renderer is environments that can be looked at.
type Renderer interface {
	// Render is a picture of environment i of the batch as it stands, nil if there
	// is none.
	Render(i int) image.Image
	// Rate is the pictures a second at which time runs as it does in the task.
	Rate() float64
}

// Drawer is dynamics, or a host environment, that can draw themselves.
type Drawer interface {
	// Draw is a picture of one environment. Of dynamics, state has its row alone:
	// [1, ...]; of a host environment it is empty.
	Draw(state rl.Tree) image.Image
	// Rate is that of a Renderer.
	Rate() float64
}

// Rewarder is environments whose rewards are not those that the task gives.
type Rewarder interface {
	// Rewards are the task's, of the last step and by kind of agent: episodes are
	// counted by them.
	Rewards() []rl.Tensor
}

func (g single) Unwrap() any { return g.Batch }
func (b alone) Unwrap() any  { return b.Groups }
func (e each) Unwrap() any   { return e.Groups }
func (g *guard) Unwrap() any { return g.Groups }

// Unwrap lets Drawer be found behind dynamics of one kind.
func (l lone) Unwrap() any { return l.d }

// SetLimit is that of a Limiter.
func (g *graphGroups) SetLimit(n int) {
	for i := range g.specs {
		g.specs[i].Limit = n
	}
}

// Render is that of a Renderer, where the dynamics are a Drawer.
func (g *graphGroups) Render(i int) image.Image {
	d, ok := Find[Drawer](g.dyn)
	if !ok {
		return nil
	}
	g.Obs()
	row := func(t rl.Tensor) rl.Tensor { return rl.Gather(t, 1, []int{i}) }
	return d.Draw(g.last.State.Map(row))
}

// Rate is that of the dynamics.
func (g *graphGroups) Rate() float64 { return rateOf(g.dyn) }

func rateOf(x any) float64 {
	if d, ok := Find[Drawer](x); ok {
		return d.Rate()
	}
	return 0
}

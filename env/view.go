package env

import (
	"errors"
	"image"
	"io"

	"github.com/weft-rl/weft/rl"
)

// Environments may be more than a Batch or Groups. What they are besides is found
// through all that stands around them: the guard, wrappers, views.

// Find returns x as a T, or the first T among the values that x wraps. A wrapper has a method
// Unwrap() any.
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
	// Film has environment i of the batch drawn from now on: take is given a
	// picture of its first observation, and one after every step, before any reset.
	// No take ends it. rate is the pictures a second at which time runs as it does
	// in the task; the error is why there can be none.
	Film(i int, take func(image.Image)) (rate float64, err error)
}

// ErrNoPicture is why most environments cannot be filmed.
var ErrNoPicture = errors.New("this environment has no drawing")

// Drawer is dynamics, or a host environment, that can draw themselves.
type Drawer interface {
	// Draw is a picture of one environment. Of dynamics, state has its row alone:
	// [1, ...]; of a host environment it is empty.
	Draw(state rl.Tree) image.Image
	// Rate is the pictures a second at which time runs as it does in the task.
	Rate() float64
}

// Rewarder is environments whose rewards are not those that the task gives.
type Rewarder interface {
	// Rewards are the task's, of the last step and by kind of agent: episodes are
	// counted by them.
	Rewards() []rl.Tensor
}

// Sourced is environments that are computed by something installed on the machine.
type Sourced interface {
	// Source says what that is, of which version, and where it lies.
	Source() string
}

func (g single) Unwrap() any { return g.Batch }
func (b alone) Unwrap() any  { return b.Groups }
func (e each) Unwrap() any   { return e.Groups }
func (g *guard) Unwrap() any { return g.Groups }

// Unwrap lets what dynamics are besides be found behind environments.
func (g *graphGroups) Unwrap() any { return g.dyn }

// Unwrap lets Drawer be found behind dynamics of one kind.
func (l lone) Unwrap() any { return l.d }

// SetLimit implements Limiter.
func (g *graphGroups) SetLimit(n int) {
	for i := range g.specs {
		g.specs[i].Limit = n
	}
}

// Film implements Renderer for dynamics that are a Drawer.
func (g *graphGroups) Film(i int, take func(image.Image)) (rate float64, err error) {
	return g.film.begin(g.dyn, i, take)
}

// shoot draws the states, if that is asked for.
func (g *graphGroups) shoot(state rl.Tree) {
	if g.film.take == nil {
		return
	}
	g.film.shoot(g.film.env, state.Map(func(t rl.Tensor) rl.Tensor { return rl.Gather(t, 1, []int{g.film.env}) }))
}

// Film implements Renderer for hosts that are Drawers.
func (h *hostBatch) Film(i int, take func(image.Image)) (rate float64, err error) {
	return h.film.begin(h.envs[i], i, take)
}

// film asks for pictures of one environment.
type film struct {
	drawer Drawer
	env    int
	take   func(image.Image)
}

func (f *film) begin(of any, i int, take func(image.Image)) (rate float64, err error) {
	d, ok := Find[Drawer](of)
	if !ok {
		return 0, ErrNoPicture
	}
	f.drawer, f.env, f.take = d, i, take
	return d.Rate(), nil
}

// shoot draws environment i if it is the one.
func (f *film) shoot(i int, state rl.Tree) {
	if f.take != nil && f.env == i {
		f.take(f.drawer.Draw(state))
	}
}

package env

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/rl"
)

// Name is the name under which Open registers the environments in their scope.
const Name = "env"

// Open makes n environments of an entry with one kind of agent, registers them as the scope's
// "env", and guards them: what they return is checked against their spec, and their steps and
// episodes are counted. options is a value that e.Options made, with its fields set; nil stands for
// the defaults.
//
//weft:makes
func Open(s *rl.Scope, e Entry, n int, options any) (Batch, error) {
	return OpenAs(s, Name, e, n, options)
}

// OpenAs does what Open does under another name, for a scope with several environments. Their
// steps count together; their draws and their episodes are their own.
//
//weft:makes
func OpenAs(s *rl.Scope, name string, e Entry, n int, options any) (Batch, error) {
	g, err := open(s, name, e, n, options, true)
	if err != nil {
		return nil, err
	}
	return alone{g}, nil
}

// OpenSelfPlayAs does what OpenAs does for the self-play of an entry's game, in which one agent
// moves for both seats.
//
//weft:makes
func OpenSelfPlayAs(s *rl.Scope, name string, e Entry, n int, options any) (Batch, error) {
	if e.SelfPlay == nil {
		return nil, fmt.Errorf("environment %s: it is no game that one agent can play against itself: use a game of board/, or another algorithm", e.ID)
	}
	e.New, e.NewGroups = e.SelfPlay, nil
	return OpenAs(s, name, e, n, options)
}

// OpenGroups does what Open does for an entry with any number of kinds of agents: one whose
// environments are a Batch has one kind.
//
//weft:makes
func OpenGroups(s *rl.Scope, e Entry, n int, options any) (Groups, error) {
	return OpenGroupsAs(s, Name, e, n, options)
}

// OpenGroupsAs returns OpenGroups under another name.
//
//weft:makes
func OpenGroupsAs(s *rl.Scope, name string, e Entry, n int, options any) (Groups, error) {
	return open(s, name, e, n, options, false)
}

// open makes, guards and registers the environments of an entry; one says that
// they must have one kind of agent.
func open(s *rl.Scope, name string, e Entry, n int, options any, one bool) (g Groups, err error) {
	if n < 1 {
		return nil, fmt.Errorf("environment %s: %d environments asked for, at least 1 is needed", e.ID, n)
	}
	if options == nil && e.Options != nil {
		options = e.Options()
	}
	err = rl.Catch(func() error {
		own := s
		if name != Name {
			own = s.Beside(name)
		}
		made, err := e.Make(own, n, options)
		if err != nil {
			return err
		}
		guarded, err := newGuard(s, name, made)
		if err == nil && one && len(guarded.kinds) > 1 {
			err = severalKinds(made.Spec())
		}
		if err != nil {
			return errors.Join(err, Close(made))
		}
		s.Register(name, guarded)
		for _, spec := range guarded.Spec() {
			tellFrames(s, spec)
		}
		spec := guarded.Spec()[0]
		span := rl.Span{Lo: spec.First, Hi: spec.First + spec.Rows, Of: spec.Envs}
		if name == Name {
			s.SetEnvs(span)
		} else {
			s.AddEnvs(span)
		}
		g = guarded
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("environment %s: %w", e.ID, err)
	}
	return g, nil
}

// tellFrames tells a scope which observations are stacks of frames.
func tellFrames(s *rl.Scope, spec Spec) {
	for _, l := range spec.Obs.Leaves() {
		if b, ok := l.Space.(rl.Box); ok && b.Frames > 1 {
			dims := b.Dims
			if spec.Agents > 1 {
				dims = append([]int{spec.Agents}, dims...)
			}
			s.SetStacked(shapes.Make(b.Shape().DType, dims...), b.Frames)
		}
	}
}

// Make makes the entry's environments without the guard, for wrappers.
func (e Entry) Make(s *rl.Scope, n int, options any) (Groups, error) {
	if e.NewGroups != nil {
		return e.NewGroups(s, n, options)
	}
	if e.New == nil {
		return nil, errors.New("its entry has neither New nor NewGroups")
	}
	b, err := e.New(s, n, options)
	if err != nil {
		return nil, err
	}
	return AsGroups(b), nil
}

func severalKinds(specs []Spec) error {
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.Kind
	}
	return fmt.Errorf("it has %d kinds of agents (%s): use an algorithm for several kinds, one that asks for groups of environments and not for a batch",
		len(specs), strings.Join(names, ", "))
}

// AsGroups returns a batch as the only kind of agent.
func AsGroups(b Batch) Groups {
	if a, ok := b.(alone); ok {
		return a.Groups
	}
	return single{b}
}

// AsBatch returns groups of one kind as a batch.
func AsBatch(g Groups) Batch {
	if s, ok := g.(single); ok {
		return s.Batch
	}
	return alone{g}
}

// single is a batch as the only one of its groups.
type single struct{ Batch }

func (g single) Spec() []Spec                    { return []Spec{g.Batch.Spec()} }
func (g single) Obs() []rl.Obs                   { return []rl.Obs{g.Batch.Obs()} }
func (g single) Step(action []rl.Tree) []rl.Step { return []rl.Step{g.Batch.Step(action[0])} }

// alone is groups of one kind as a batch.
type alone struct{ Groups }

func (b alone) Spec() Spec                  { return b.Groups.Spec()[0] }
func (b alone) Obs() rl.Obs                 { return b.Groups.Obs()[0] }
func (b alone) Step(action rl.Tree) rl.Step { return b.Groups.Step([]rl.Tree{action})[0] }

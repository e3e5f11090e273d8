package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Env compares batches of environments.
var Env = Benchmark{
	Name:       "env",
	Doc:        "environments stepped with random actions: Weft's own and through its bridge, Gymnasium's, EnvPool's",
	names:      []string{"weft", "gymnasium", "envpool"},
	cases:      envCases,
	contenders: envContenders,
	turn:       turn{time.Second, 200 * time.Millisecond},
}

// EnvSpec holds each contender's name for the environments of a case. A contender without one has
// no part in the case.
type EnvSpec struct {
	Envs      int    `json:"envs"`
	Processes int    `json:"-"` // processes of the bridge; 0 leaves the number to the bridge
	Bridge    string `json:"-"` // through Weft's bridge
	Native    string `json:"-"` // Weft's own
	Gymnasium string `json:"-"`
	EnvPool   string `json:"-"`

	ID  string `json:"id"` // for peers
	Way string `json:"way"`
}

func envCases(bool) []Case {
	return []Case{
		envCase(EnvSpec{Envs: 1, Bridge: "gym:weft_null:Null"}),
		envCase(EnvSpec{Envs: 2, Bridge: "gym:weft_null:Null"}),
		envCase(EnvSpec{Envs: 64, Bridge: "gym:weft_null:Null"}),
		envCase(EnvSpec{Envs: 2, Bridge: "gym:weft_null:Null?workers=2", Processes: 2}),
		envCase(everywhere("CartPole-v1")),
		envCase(everywhere("Pendulum-v1")),
		envCase(everywhere("HalfCheetah-v5")),
		envCase(everywhere("Ant-v5")),
	}
}

// everywhere returns a case of 64 environments that all contenders have under one name.
func everywhere(id string) EnvSpec {
	return EnvSpec{Envs: 64, Bridge: "gym:" + id, Native: id, Gymnasium: id, EnvPool: id}
}

func envCase(e EnvSpec) Case {
	id, title := e.Gymnasium, fmt.Sprintf("%s, %d environments", e.Gymnasium, e.Envs)
	if id == "" {
		id = fmt.Sprint("nothing=", e.Envs)
		title = fmt.Sprintf("what the bridge costs: environments that do nothing, %d", e.Envs)
		if e.Processes > 0 {
			id += fmt.Sprint(",processes=", e.Processes)
			title += fmt.Sprintf(" in %d processes", e.Processes)
		}
	}
	return Case{ID: id, Title: title, Work: float64(e.Envs), Unit: "steps/s", Spec: e}
}

// by returns the specification of the case for a peer.
func (e EnvSpec) by(peer, way string) (any, bool) {
	e.ID, e.Way = map[string]string{"gymnasium": e.Gymnasium, "envpool": e.EnvPool}[peer], way
	return e, e.ID != ""
}

// Stepper steps a batch of Weft's environments.
type Stepper interface {
	Step() error // steps all environments once
	Close() error
}

// EnvFunc makes n environments of Weft by their id. It returns ErrNoEnv if there is none of that
// id.
type EnvFunc func(id string, n int) (Stepper, error)

// ErrNoEnv means that this binary has no environment of an id.
var ErrNoEnv = errors.New("no such environment")

func envContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, envPeers)
	if err != nil || !o.wants("weft") {
		return f, err
	}
	weft := func(path string, id func(EnvSpec) string) Contender {
		return &inProcess{label: Label{Name: "weft", Path: path}, make: func(_ context.Context, c Case) (program, error) {
			e := c.Spec.(EnvSpec)
			if id(e) == "" {
				return nil, errNoPart
			}
			s, err := o.Env(id(e), e.Envs)
			if errors.Is(err, ErrNoEnv) {
				return nil, errNoPart
			}
			if err != nil {
				return nil, err
			}
			return stepping{s}, nil
		}}
	}
	f.present = append([]Contender{
		weft("native", func(e EnvSpec) string { return e.Native }),
		weft("bridge", func(e EnvSpec) string { return e.Bridge }),
	}, f.present...)
	return f, nil
}

// stepping runs a Stepper as a program.
type stepping struct{ Stepper }

func (s stepping) Run() error { return s.Step() }

// Close releases the environments. It ignores errors, which do not matter to the measurement.
func (s stepping) Close() { _ = s.Stepper.Close() }

package mujoco

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/rl"
)

// The tasks, under Gymnasium's ids.
var (
	HalfCheetah            = entry[HalfCheetahOptions]("HalfCheetah-v5", "run with a two-legged cheetah in the plane", 1000)
	Hopper                 = entry[HopperOptions]("Hopper-v5", "hop on one leg without falling", 1000)
	Walker2d               = entry[Walker2dOptions]("Walker2d-v5", "walk on two legs in the plane without falling", 1000)
	Swimmer                = entry[SwimmerOptions]("Swimmer-v5", "swim with a chain of three links", 1000)
	Ant                    = entry[AntOptions]("Ant-v5", "walk on four legs", 1000)
	Humanoid               = entry[HumanoidOptions]("Humanoid-v5", "walk on two legs in space without falling", 1000)
	InvertedPendulum       = entry[InvertedPendulumOptions]("InvertedPendulum-v5", "balance a pole on a cart", 1000)
	InvertedDoublePendulum = entry[InvertedDoublePendulumOptions]("InvertedDoublePendulum-v5", "balance two poles, one on the other, on a cart", 1000)
	Reacher                = entry[ReacherOptions]("Reacher-v5", "reach a target with a two-jointed arm", 50)
	Pusher                 = entry[PusherOptions]("Pusher-v5", "push an object to a goal with a robot's arm", 100)
)

// All are the environments of this package.
var All = []env.Entry{
	HalfCheetah, Hopper, Walker2d, Swimmer, Ant, Humanoid, InvertedPendulum, InvertedDoublePendulum, Reacher, Pusher,
}

// options make the task that they describe.
type options[T any] interface {
	*T
	task() (task, error)
}

// entry offers a task with options of type T.
func entry[T any, P options[T]](id, doc string, limit int) env.Entry {
	return env.Entry{
		ID: id, Doc: doc, Kind: env.Continuous, Needs: "MuJoCo",
		Options: func() any {
			o := new(T)
			if err := config.Defaults(o); err != nil {
				rl.Fail(err)
			}
			return o
		},
		New: func(s *rl.Scope, n int, opts any) (env.Batch, error) {
			o, ok := opts.(*T)
			if !ok || o == nil {
				return nil, fmt.Errorf("options are %T, want %T as its entry's Options makes", opts, new(T))
			}
			t, err := P(o).task()
			if err != nil {
				return nil, err
			}
			return newBatch(s, n, env.Spec{ID: id, Limit: limit}, t)
		},
	}
}

// interval is two bounds.
type interval struct{ lo, hi float64 }

func (r interval) clip(x float64) float64 { return min(max(x, r.lo), r.hi) }

// inside reports whether x is strictly between the bounds.
func (r interval) inside(x float64) bool { return r.lo < x && x < r.hi }

// intervals reads options that are bounds, and keeps what is wrong with them.
type intervals struct{ errs []error }

func (r *intervals) read(name string, x []float64) interval {
	if len(x) != 2 || !(x[0] <= x[1]) {
		r.errs = append(r.errs, fmt.Errorf("option %s is %v, want a lower and an upper bound", name, x))
		return interval{}
	}
	return interval{x[0], x[1]}
}

func (r *intervals) err() error { return errors.Join(r.errs...) }

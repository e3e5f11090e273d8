package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// PPO compares whole training loops.
var PPO = Benchmark{
	Name:       "ppo",
	Doc:        "PPO on CartPole-v1 end to end, Weft beside a jitted JAX program, SB3, a torch loop and rlox",
	names:      []string{"weft", "jax", "rlox", "torch", "sb3"},
	cases:      func(bool) []Case { return []Case{recipeCase(128), recipeCase(4)} },
	contenders: ppoContenders,
	turn:       turn{2 * time.Second, 500 * time.Millisecond},
}

// Recipe is the training loop of all contenders: two networks of 2x64 tanh units; the rest is
// CleanRL's recipe, without annealing.
type Recipe struct {
	Envs        int `json:"envs"`
	Horizon     int `json:"horizon"`
	Epochs      int `json:"epochs"`
	Minibatches int `json:"minibatches"`
}

// TrainFunc trains the recipe with Weft until ctx is done. It calls after at the end of every
// iteration.
type TrainFunc func(ctx context.Context, r Recipe, after func()) error

func recipeCase(envs int) Case {
	r := Recipe{Envs: envs, Horizon: 128, Epochs: 4, Minibatches: 4}
	return Case{
		ID:    fmt.Sprintf("envs=%d", envs),
		Title: fmt.Sprintf("%d environments x %d steps, %d epochs x %d minibatches", r.Envs, r.Horizon, r.Epochs, r.Minibatches),
		Work:  float64(r.Envs * r.Horizon),
		Unit:  "steps/s",
		Spec:  r,
	}
}

func ppoContenders(ctx context.Context, o Options) (field, error) {
	f, err := startPeers(ctx, o, ppoPeers)
	if err != nil {
		return f, err
	}
	if o.wants("weft") {
		weft := &inProcess{label: Label{Name: "weft", Path: "train"}, make: func(ctx context.Context, c Case) (program, error) {
			train := func(ctx context.Context, after func()) error { return o.Train(ctx, c.Spec.(Recipe), after) }
			return begin(ctx, train), nil
		}}
		f.present = append([]Contender{weft}, f.present...)
	}
	return f, nil
}

// training runs Weft one iteration at a time. Between iterations the run is blocked in its watcher.
type training struct {
	stop          context.CancelFunc
	turn, reached chan struct{}
	ended         chan error
}

func begin(ctx context.Context, train func(ctx context.Context, after func()) error) *training {
	ctx, stop := context.WithCancel(ctx)
	t := &training{stop: stop, turn: make(chan struct{}), reached: make(chan struct{}), ended: make(chan error, 1)}
	go func() {
		t.wait(ctx)
		t.ended <- train(ctx, func() {
			select {
			case t.reached <- struct{}{}:
				t.wait(ctx)
			case <-ctx.Done():
			}
		})
	}()
	return t
}

// wait blocks until the next turn, or the end.
func (t *training) wait(ctx context.Context) {
	select {
	case <-t.turn:
	case <-ctx.Done():
	}
}

// Run runs one iteration.
func (t *training) Run() error {
	select {
	case t.turn <- struct{}{}:
	case err := <-t.ended:
		return t.over(err)
	}
	select {
	case <-t.reached:
		return nil
	case err := <-t.ended:
		return t.over(err)
	}
}

var errEnded = errors.New("the training has ended")

// over stores the run's result for Close.
func (t *training) over(err error) error {
	t.ended <- err
	if err == nil {
		return errEnded
	}
	return err
}

// Close stops the run and waits for it.
func (t *training) Close() {
	t.stop()
	<-t.ended
}

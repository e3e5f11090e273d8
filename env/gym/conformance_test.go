package gym

import (
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/envtest"
)

// entry is an environment of Gymnasium; a name alone is one of testdata's.
func entry(t testing.TB, id string) env.Entry {
	t.Helper()
	e, err := Entry(id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

const ours = "weft_test_envs:"

// with are the default options, changed.
func with(change func(*Options)) *Options {
	o := defaults()
	if change != nil {
		change(&o)
	}
	return &o
}

// Environments of every kind of space keep the contract.
func TestConformance(t *testing.T) {
	needs(t)
	for _, c := range []struct {
		id      string
		workers int
		opts    []envtest.Option
	}{
		{"CartPole-v1", 2, []envtest.Option{envtest.Steps(100)}},
		{"FrozenLake-v1", 1, []envtest.Option{envtest.Steps(120)}},
		{"Taxi-v4", 1, []envtest.Option{envtest.Steps(205)}},
		{ours + "Mixed", 1, []envtest.Option{envtest.Steps(40)}},
		{ours + "Pair", 1, []envtest.Option{envtest.Steps(40)}},
		{ours + "Own", 1, []envtest.Option{envtest.Steps(40)}},
		{ours + "Locked", 1, []envtest.Option{envtest.Steps(40)}},
	} {
		t.Run(c.id, func(t *testing.T) {
			o := with(func(o *Options) { o.Workers = c.workers })
			envtest.Run(t, entry(t, c.id), append(c.opts, envtest.With(o))...)
		})
	}
}

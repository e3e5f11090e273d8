package gym

import (
	"sync"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/env/wrap"
)

// entry returns an environment of Gymnasium. Tests share it, and what is known of it.
func entry(t testing.TB, id string) env.Entry { return shared(t, "gym:"+id, id, Entry) }

var entries sync.Map

// shared returns the entry that open makes, the same whenever it is asked for.
func shared(t testing.TB, name, id string, open func(string) (env.Entry, error)) env.Entry {
	t.Helper()
	e, err := open(id)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := entries.LoadOrStore(name, e)
	return one.(env.Entry)
}

const ours = "weft_test_envs:"

// with returns the default options, changed.
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
	t.Parallel()
	for _, c := range []struct {
		id, wrap string
		steps    int
	}{
		{"CartPole-v1", "time-limit=25,normalize-obs,frame-stack=2", 60},
		{"Taxi-v4", "", 205},
		{ours + "Mixed", "", 40},
	} {
		if testing.Short() && c.steps > 100 {
			continue // a race detector has seen all there is to see
		}
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			o := with(func(o *Options) { o.Workers = 1 }) // that more are the same is another test's
			list, err := wrap.Parse(c.wrap)
			if err != nil {
				t.Fatal(err)
			}
			envtest.Run(t, wrap.Entry(entry(t, c.id), list, ""), envtest.With(o), envtest.Steps(c.steps))
		})
	}
}

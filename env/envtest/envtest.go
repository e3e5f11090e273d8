// Package envtest is a conformance kit for environments: what every algorithm,
// policy and checkpoint relies on, as checks that an environment's author runs
// in one line of a test.
//
//	func TestConformance(t *testing.T) { envtest.Run(t, mypackage.MyEnv) }
package envtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Option changes how an environment is checked.
type Option func(*kit)

// With sets the environment's options, of the type that its entry's Options
// makes; without it the defaults are used.
func With(options any) Option { return func(k *kit) { k.options = options } }

// Steps sets how many steps a rollout has. The default is 300, or a little more
// than the environment's limit if that is longer.
func Steps(n int) Option { return func(k *kit) { k.steps = n } }

// On sets the device; the default is GoMLX's backend in Go, without parallelism.
func On(d *rl.Device) Option { return func(k *kit) { k.dev = d } }

// Endless says that episodes do not end within a rollout, so that nothing can be
// said about their ends.
func Endless() Option { return func(k *kit) { k.endless = true } }

// Deterministic says that the environment draws no random numbers, so that it
// does the same whatever the seed.
func Deterministic() Option { return func(k *kit) { k.fixed = true } }

// Run checks an environment, with a subtest for each check.
func Run(t *testing.T, e env.Entry, opts ...Option) {
	t.Helper()
	k, err := newKit(e, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if err := k.run(c); err != nil {
				t.Error(err)
			}
		})
	}
}

// Problem is a check that failed.
type Problem struct {
	Check string
	Err   error
}

func (p Problem) String() string { return p.Check + ": " + p.Err.Error() }

// Check does what Run does, outside a test: it returns what failed, in the order of the
// checks.
func Check(e env.Entry, opts ...Option) []Problem {
	k, err := newKit(e, opts)
	if err != nil {
		return []Problem{{"spec", err}}
	}
	var out []Problem
	for _, c := range checks {
		if err := k.run(c); err != nil {
			out = append(out, Problem{c.name, err})
		}
	}
	return out
}

// kit is one environment under test.
type kit struct {
	entry   env.Entry
	options any
	steps   int
	dev     *rl.Device
	endless bool
	fixed   bool

	envs, block int
	plain       *trace      // the rollout that most checks look at
	scopes      []*rl.Scope // scopes to close
}

// seed of the environments, and the key of the actions, which stays when the
// seed changes.
const seed = 1

var draws = rl.NewKey(2).Use("actions")

// environments in the plain rollout, in blocks: enough for rare things to show.
const environments = 50

func newKit(e env.Entry, opts []Option) (*kit, error) {
	k := &kit{entry: e, block: 1}
	for _, o := range opts {
		o(k)
	}
	if k.dev == nil {
		b, err := gobackend.New("ops_sequential")
		if err != nil {
			return nil, fmt.Errorf("no device to check on: %w", err)
		}
		k.dev = rl.NewDevice(b)
	}
	err := k.measure()
	return k, errors.Join(err, k.close())
}

// measure finds the block of environments and the length of a rollout.
func (k *kit) measure() error {
	spec, err := k.smallest()
	if err != nil {
		return err
	}
	k.block = max(1, spec.Block)
	k.envs = environments * k.block
	if k.steps == 0 {
		k.steps = max(300, spec.Limit+spec.Limit/10+2)
	}
	return nil
}

// maxBlock is the largest block that is looked for.
const maxBlock = 64

// smallest returns the spec of the smallest batch that can be made: one block.
func (k *kit) smallest() (env.Spec, error) {
	var first error
	for n := 1; n <= maxBlock; n++ {
		b, err := k.open(k.scope(seed), n)
		if err == nil {
			return b.Spec()[0], nil
		}
		if first == nil {
			first = err
		}
	}
	return env.Spec{}, first
}

func (k *kit) scope(seed uint64) *rl.Scope { return k.owned(rl.NewScope(k.dev, seed)) }

// owned returns a scope that is closed when its check is over.
func (k *kit) owned(s *rl.Scope) *rl.Scope {
	k.scopes = append(k.scopes, s)
	return s
}

func (k *kit) close() error {
	var errs []error
	for _, s := range k.scopes {
		errs = append(errs, s.Close())
	}
	k.scopes = nil
	return errors.Join(errs...)
}

// open makes environments, as groups whether there are several kinds of agents or
// not: one kind is a special case.
func (k *kit) open(s *rl.Scope, n int) (env.Groups, error) {
	return env.OpenGroups(s, k.entry, n, k.options)
}

// run returns a check's error, or the failure that stopped it.
func (k *kit) run(c check) error {
	err := rl.Catch(func() error { return c.run(k) })
	return errors.Join(err, k.close())
}

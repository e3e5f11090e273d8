package envtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/rl"
)

// twisted is a good environment with one thing broken.
type twisted struct {
	env.Batch
	scope *rl.Scope
	how   twist
	taken int
	held  rl.Tensor
}

// twist breaks an environment: each field that is set replaces one of its functions.
type twist struct {
	make func(s *rl.Scope, n int, options any) (env.Batch, error) // the environment to break; Identity if nil
	spec func(b *twisted, s *env.Spec)
	obs  func(b *twisted, o rl.Obs) rl.Obs
	step func(b *twisted, x *rl.Step)
}

func (b *twisted) Spec() env.Spec {
	s := b.Batch.Spec()
	if b.how.spec != nil {
		b.how.spec(b, &s)
	}
	return s
}

func (b *twisted) Obs() rl.Obs {
	o := b.Batch.Obs()
	if b.how.obs != nil {
		o = b.how.obs(b, o)
	}
	return o
}

func (b *twisted) Step(a rl.Tree) rl.Step {
	x := b.Batch.Step(a)
	b.taken++
	if b.how.step != nil {
		b.how.step(b, &x)
	}
	return x
}

// addReward adds f to the reward of each row.
func (b *twisted) addReward(x *rl.Step, f func(row int) float32) {
	r := append([]float32(nil), rl.Read[float32](x.Reward)...)
	for i := range r {
		r[i] += f(i)
	}
	x.Reward = rl.FromFlat(b.scope, r, len(r))
}

// none returns a false flag for each environment.
func (b *twisted) none() rl.Tensor {
	return rl.FromFlat(b.scope, make([]bool, b.Batch.Spec().Rows), b.Batch.Spec().Rows)
}

func (h twist) entry() env.Entry {
	e := debug.Identity
	good := e.New
	if h.make != nil {
		good = h.make
	}
	e.New = func(s *rl.Scope, n int, options any) (env.Batch, error) {
		b, err := good(s, n, options)
		if err != nil {
			return nil, err
		}
		return &twisted{Batch: b, scope: s, how: h}, nil
	}
	return e
}

// calls is state that no seed determines.
var calls float32

// hosts returns environments that f makes, in place of Identity's.
func hosts(f func(index int) env.Host) func(*rl.Scope, int, any) (env.Batch, error) {
	return func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		box := rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{1}}
		spec := env.Spec{ID: "Identity-v0", Limit: 16, Obs: box, Action: rl.Discrete{N: 4}}
		return env.Hosts(s, n, spec, func(i int) (env.Host, error) { return f(i), nil })
	}
}

// stubborn begins every episode like its first.
type stubborn struct{ start *float32 }

func (h *stubborn) Reset(k rl.Key, obs env.Row) {
	if h.start == nil {
		x := float32(k.Uniform(0, 0))
		h.start = &x
	}
	obs.Float32("")[0] = *h.start
}

func (h *stubborn) Step(k rl.Key, _, obs env.Row) (float64, bool, bool) {
	obs.Float32("")[0] = float32(k.Uniform(0, 0))
	return 0, false, false
}

// shared draws one number for all environments.
type shared struct{}

func (shared) Spec() env.Spec {
	return env.Spec{ID: "Identity-v0", Limit: 16, Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 4}}
}

func (shared) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(graph.BroadcastToDims(c.Uniform("x", 1, 1), n, 1)))
}

func (d shared) Step(c *rl.Ctx, state, action rl.Tree) env.Move {
	n := state.Leaf("").Rows()
	reward := graph.ConvertDType(action.Leaf("").Node(), dtypes.Float32)
	return env.Move{State: d.Reset(c, n), Reward: rl.Wrap(reward), Terminated: rl.Wrap(graph.LogicalNot(graph.Equal(reward, reward)))}
}

func (shared) Observe(_ *rl.Ctx, s rl.Tree) rl.Obs { return rl.Obs{X: s} }

// Every check has something that only it, or it first, finds.
func TestFinds(t *testing.T) {
	for _, x := range []struct {
		name, check, says string
		how               twist
	}{
		{"good", "", "", twist{}},
		{"id", "spec", `entry "Identity-v0" makes environments called "other"`, twist{
			spec: func(_ *twisted, s *env.Spec) { s.ID = "other" },
		}},
		{"changing spec", "spec", "its spec changed", twist{
			spec: func(b *twisted, s *env.Spec) { s.Limit += b.taken },
		}},
		{"rows", "spec", "opened 50 environments: the spec says Envs 51", twist{
			spec: func(_ *twisted, s *env.Spec) { s.Envs++ },
		}},
		{"range", "steps", "outside Box", twist{
			step: func(b *twisted, x *rl.Step) {
				if n := b.Batch.Spec().Rows; b.taken == 20 {
					wrong := make([]float32, n*4)
					wrong[len(wrong)-1] = 1.5
					x.Obs.X = rl.One(rl.FromFlat(b.scope, wrong, n, 4))
				}
			},
		}},
		{"written to", "memory", "was written to later", twist{
			step: func(b *twisted, x *rl.Step) {
				if b.held.Ok() {
					rl.Read[float32](b.held)[0] = .25
				}
				b.held = x.Obs.X.At(0)
			},
		}},
		{"stale obs", "obs", "Obs is not what the step returned", twist{
			obs: func(b *twisted, o rl.Obs) rl.Obs {
				if !b.held.Ok() {
					b.held = o.X.At(0)
				}
				o.X = rl.One(b.held)
				return o
			},
		}},
		{"never first", "first", "after a step whose Over is true, First is false", twist{
			step: func(b *twisted, x *rl.Step) { x.Obs.First = b.none() },
			obs: func(b *twisted, o rl.Obs) rl.Obs {
				if b.taken > 0 {
					o.First = b.none()
				}
				return o
			},
		}},
		{"not first", "first", "First is false before the first step", twist{
			obs: func(b *twisted, o rl.Obs) rl.Obs {
				if b.taken == 0 {
					o.First = b.none()
				}
				return o
			},
		}},
		{"lost final", "final", "ends of episodes Final was Obs", twist{
			step: func(_ *twisted, x *rl.Step) { x.Final = x.Obs },
		}},
		{"stray final", "final", "though the episode goes on", twist{
			step: func(_ *twisted, x *rl.Step) { x.Final.X = rl.One(rl.Zero(x.Final.X.At(0))) },
		}},
		{"both", "ends", "a time limit is no termination", twist{
			step: func(_ *twisted, x *rl.Step) { x.Terminated = x.Truncated },
		}},
		{"neither", "ends", "Over without being Terminated", twist{
			step: func(b *twisted, x *rl.Step) { x.Truncated = b.none() },
		}},
		{"late", "limit", "goes on after 15 steps", twist{
			spec: func(_ *twisted, s *env.Spec) { s.Limit = 15 },
		}},
		{"early", "limit", "truncated after 16 steps, its limit is 17", twist{
			spec: func(_ *twisted, s *env.Spec) { s.Limit = 17 },
		}},
		{"secret mask", "masks", "its spec says Masked is false", twist{
			obs: func(b *twisted, o rl.Obs) rl.Obs {
				o.Legal = o.X
				return o
			},
			step: func(b *twisted, x *rl.Step) { x.Obs.Legal, x.Final.Legal = x.Obs.X, x.Final.X },
		}},
		{"clock", "deterministic", "two runs with the same seed differ: step 1: reward", twist{
			step: func(b *twisted, x *rl.Step) {
				calls++
				b.addReward(x, func(int) float32 { return calls })
			},
		}},
		{"deaf to the seed", "random", "another seed gives the same numbers", twist{
			make: func(s *rl.Scope, n int, o any) (env.Batch, error) {
				return debug.Identity.New(rl.NewScope(s.Device(), 1), n, o)
			},
		}},
		{"all alike", "random", "all environments begin alike", twist{
			make: func(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, shared{}) },
		}},
		{"begins alike", "random", "later episodes begin like the first", twist{
			make: hosts(func(int) env.Host { return &stubborn{} }),
		}},
		{"sees the batch", "batch", "1 environments instead of 50: step 1: reward", twist{
			step: func(b *twisted, x *rl.Step) {
				n := b.Batch.Spec().Envs
				b.addReward(x, func(int) float32 { return float32(n) })
			},
		}},
		{"sees the shard", "shard", "shard 1 of 2: step 1: reward", twist{
			step: func(b *twisted, x *rl.Step) { b.addReward(x, func(i int) float32 { return float32(i) }) },
		}},
		{"wrong share", "shard", "its spec says 25 from 1 of 50", twist{
			spec: func(_ *twisted, s *env.Spec) { s.First = min(s.First, 1) },
		}},
		{"forgets", "snapshot", "after loading its state: step 1: reward", twist{
			step: func(b *twisted, x *rl.Step) { b.addReward(x, func(int) float32 { return float32(b.taken) }) },
		}},
		{"pretends", "snapshot", "want ErrNoSnapshot", twist{
			spec: func(_ *twisted, s *env.Spec) { s.Exact = false },
		}},
	} {
		t.Run(x.name, func(t *testing.T) { expect(t, envtest.Check(x.how.entry()), x.check, x.says) })
	}
}

// joint is Kinds-v0 with its steps changed.
type joint struct {
	env.Groups
	scope *rl.Scope
	step  func(b joint, x []rl.Step)
}

func (b joint) Step(a []rl.Tree) []rl.Step {
	x := b.Groups.Step(a)
	b.step(b, x)
	return x
}

// flags returns false for every agent of a kind.
func (b joint) flags(kind int) rl.Tensor {
	spec := b.Spec()[kind]
	if spec.Agents > 1 {
		return rl.FromFlat(b.scope, make([]bool, spec.Rows*spec.Agents), spec.Rows, spec.Agents)
	}
	return rl.FromFlat(b.scope, make([]bool, spec.Rows), spec.Rows)
}

func TestFindsAgents(t *testing.T) {
	for _, x := range []struct {
		name, check, says string
		step              func(b joint, x []rl.Step)
	}{
		{"good", "", "", func(joint, []rl.Step) {}},
		{"left behind", "agents", "number 0: the episode is Over, and the agent neither", func(b joint, x []rl.Step) {
			x[1].Truncated = b.flags(1)
		}},
		{"early", "agents", "number 0: it is Terminated or Truncated without the episode being Over", func(b joint, x []rl.Step) {
			one := make([]bool, b.Spec()[1].Rows)
			one[0] = true
			x[1].Terminated = rl.FromFlat(b.scope, one, len(one))
		}},
		{"undead", "agents", "it is out of play, and neither", func(b joint, x []rl.Step) { x[0].Terminated = b.flags(0) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			e := debug.Kinds
			e.NewGroups = func(s *rl.Scope, n int, options any) (env.Groups, error) {
				g, err := debug.Kinds.NewGroups(s, n, options)
				return joint{g, s, x.step}, err
			}
			expect(t, envtest.Check(e), x.check, x.says)
		})
	}
}

// expect compares the first problem found with the check that must find it.
func expect(t *testing.T, got []envtest.Problem, check, says string) {
	t.Helper()
	switch {
	case check == "" && len(got) > 0:
		t.Errorf("found %v", got)
	case check == "":
	case len(got) == 0:
		t.Errorf("%s found nothing", check)
	case got[0].Check != check || !strings.Contains(got[0].Err.Error(), says):
		t.Errorf("found %s first, want %s: ...%s...", got[0], check, says)
	}
}

func TestEntry(t *testing.T) {
	undocumented, unpointed := debug.IdentityContinuous, debug.Identity
	undocumented.Doc = ""
	unpointed.Options = func() any { return 1 }
	failing := env.Entry{ID: "none", New: func(*rl.Scope, int, any) (env.Batch, error) { return nil, fmt.Errorf("no licence") }}
	for _, x := range []struct {
		entry env.Entry
		says  string
	}{
		{undocumented, "no line of documentation"},
		{unpointed, "want a pointer to a struct"},
		{failing, "no licence"},
	} {
		options := any(&debug.IdentityOptions{Symbols: 3})
		if x.entry.Options == nil {
			options = nil
		}
		expect(t, envtest.Check(x.entry, envtest.With(options)), "spec", x.says)
	}
}

func TestOptions(t *testing.T) {
	for _, x := range []struct {
		name, check, says string
		entry             env.Entry
		opts              []envtest.Option
	}{
		{"short", "final", "no episode ended", debug.Identity, []envtest.Option{envtest.Steps(5)}},
		{"endless", "", "", debug.Identity, []envtest.Option{envtest.Steps(5), envtest.Endless()}},
		{"wrong options", "spec", "option delay is 0", debug.Memory, []envtest.Option{envtest.With(&debug.MemoryOptions{})}},
		{"random after all", "random", "depend on the seed", debug.Identity, []envtest.Option{envtest.Deterministic()}},
		{"blocks", "", "", blocks(3), nil},
	} {
		t.Run(x.name, func(t *testing.T) { expect(t, envtest.Check(x.entry, x.opts...), x.check, x.says) })
	}
}

// blocks does what Identity does in blocks of n.
func blocks(n int) env.Entry {
	e := debug.Host
	e.New = func(s *rl.Scope, envs int, _ any) (env.Batch, error) {
		spec := env.Spec{
			ID: e.ID, Limit: 16, Block: n, Obs: rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{1}}, Action: rl.Discrete{N: 2},
		}
		return env.Hosts(s, envs, spec, func(int) (env.Host, error) { return noise{}, nil })
	}
	return e
}

// noise shows random numbers, and has no state.
type noise struct{}

func (noise) Reset(k rl.Key, obs env.Row) { obs.Float32("")[0] = float32(k.Uniform(0, 0)) }
func (n noise) Step(k rl.Key, _, obs env.Row) (float64, bool, bool) {
	n.Reset(k, obs)
	return 1, false, false
}

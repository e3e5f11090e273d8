package env_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// counter counts up from its global index times ten; action "by" says by how
// much. It terminates at a number that ends in 7 and truncates itself at 5.
type counter struct{ start, at int32 }

func (c *counter) show(obs env.Row) {
	obs.Int32("at")[0] = c.at
	obs.Uint8("pixels")[2] = uint8(c.at)
	obs.Legal("by")[1] = true
	obs.Legal("by")[2] = c.at%10 < 6
}

func (c *counter) Reset(_ rl.Key, obs env.Row) {
	c.at = c.start
	c.show(obs)
}

func (c *counter) Step(_ rl.Key, action, obs env.Row) (reward float64, terminated, truncated bool) {
	by := action.Int32("by")[0]
	c.at += by
	c.show(obs)
	return float64(by) + float64(action.Float32("extra")[0]), c.at%10 == 7, c.at%10 == 5
}

func counterSpec() env.Spec {
	return env.Spec{
		ID: "Counter-v0", Masked: true, Limit: 4,
		Obs: rl.Dict{
			{Name: "at", Space: rl.Discrete{N: 1000}},
			{Name: "pixels", Space: rl.Box{Low: []float64{0}, High: []float64{255}, Dims: []int{3}, DType: dtypes.Uint8}},
		},
		Action: rl.Dict{
			{Name: "by", Space: rl.Discrete{N: 3}},
			{Name: "extra", Space: rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}}},
		},
	}
}

func counters(s *rl.Scope, n int) (env.Batch, error) {
	return env.Hosts(s, n, counterSpec(), func(i int) (env.Host, error) { return &counter{start: int32(10 * i)}, nil })
}

func by(s *rl.Scope, n ...int32) rl.Tree {
	extra := make([]float32, len(n))
	for i := range extra {
		extra[i] = .5
	}
	return rl.NewTree([]string{"by", "extra"}, []rl.Tensor{rl.FromFlat(s, n, len(n)), rl.FromFlat(s, extra, len(n), 1)})
}

// Environments of a batch step on their own, reset themselves, and are cut off
// at the limit.
func TestHosts(t *testing.T) {
	s := newScope(t)
	b, err := counters(s, 2)
	if err != nil {
		t.Fatal(err)
	}
	b = open(t, s, b)
	// Environment 0 goes 1 2 3 4 and is cut off by the limit; 1 goes 12 14 15 and
	// truncates itself, then goes 12.
	for i, x := range []struct {
		by, final, next []int32
		trunc           []bool
	}{
		{by: []int32{1, 2}, final: []int32{1, 12}, next: []int32{1, 12}, trunc: []bool{false, false}},
		{by: []int32{1, 2}, final: []int32{2, 14}, next: []int32{2, 14}, trunc: []bool{false, false}},
		{by: []int32{1, 1}, final: []int32{3, 15}, next: []int32{3, 10}, trunc: []bool{false, true}},
		{by: []int32{1, 2}, final: []int32{4, 12}, next: []int32{0, 12}, trunc: []bool{true, false}},
	} {
		out := b.Step(by(s, x.by...))
		if got := rl.Read[int32](out.Final.X.Leaf("at")); !slices.Equal(got, x.final) {
			t.Errorf("step %d: final %v, want %v", i, got, x.final)
		}
		if got := rl.Read[int32](out.Obs.X.Leaf("at")); !slices.Equal(got, x.next) {
			t.Errorf("step %d: next %v, want %v", i, got, x.next)
		}
		for _, f := range []rl.Tensor{out.Truncated, out.Over, out.Obs.First} {
			if got := rl.Read[bool](f); !slices.Equal(got, x.trunc) {
				t.Errorf("step %d: flags %v, want %v", i, got, x.trunc)
			}
		}
		if got := rl.Read[float32](out.Reward); got[0] != float32(x.by[0])+.5 || got[1] != float32(x.by[1])+.5 {
			t.Errorf("step %d: reward %v", i, got)
		}
		if got := rl.Read[uint8](out.Obs.X.Leaf("pixels")); int32(got[2]) != x.next[0] || int32(got[5]) != x.next[1] {
			t.Errorf("step %d: pixels %v", i, got)
		}
		if got := rl.Read[bool](out.Obs.Legal.Leaf("by")); !slices.Equal(got, []bool{false, true, true, false, true, true}) {
			t.Errorf("step %d: legal %v", i, got)
		}
	}
	if e := rl.System.TakeEpisodes(s.Episodes()); len(e) != 2 || e[0].Env != 1 || e[0].Return != 6.5 || e[1].Env != 0 || e[1].Return != 6 {
		t.Errorf("episodes %+v", e)
	}
}

func TestHostTerminates(t *testing.T) {
	s := newScope(t)
	b, err := counters(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	var out rl.Step
	for _, n := range []int32{2, 2, 2, 1} {
		out = b.Step(by(s, n))
	}
	if te, tr := rl.Read[bool](out.Terminated)[0], rl.Read[bool](out.Truncated)[0]; !te || !tr {
		t.Errorf("ends by itself on its last step: terminated %v, truncated %v, want both", te, tr)
	}
}

func TestHostNoSnapshot(t *testing.T) {
	s := newScope(t)
	b, err := counters(s, 2)
	if err != nil {
		t.Fatal(err)
	}
	if b.Spec().Exact {
		t.Error("a host that cannot be saved is called exact")
	}
	open(t, s, b)
	if err := rl.Catch(func() error { s.Save(rl.NewState(s)); return nil }); !errors.Is(err, env.ErrNoSnapshot) {
		t.Errorf("saving gave %v, want ErrNoSnapshot", err)
	}
}

// A host that asks for what its spec has not got hears what there is.
func TestRow(t *testing.T) {
	for _, x := range []struct {
		name string
		ask  func(obs env.Row)
		want string
	}{
		{"unknown leaf", func(obs env.Row) { obs.Float32("where") }, `no leaf "where" among ["at" "pixels"]`},
		{"wrong type", func(obs env.Row) { obs.Float32("at") }, `leaf "at" holds []int32`},
		{"no mask", func(obs env.Row) { obs.Legal("extra") }, `no mask for action "extra"`},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newScope(t)
			b, err := env.Hosts(s, 1, counterSpec(), func(int) (env.Host, error) { return asker(x.ask), nil })
			if err != nil {
				t.Fatal(err)
			}
			fails(t, func() { b.Obs() }, x.want)
		})
	}
}

// asker does one thing at its reset.
type asker func(obs env.Row)

func (f asker) Reset(_ rl.Key, obs env.Row)                         { f(obs) }
func (f asker) Step(rl.Key, env.Row, env.Row) (float64, bool, bool) { return 0, false, false }

func TestOpenErrors(t *testing.T) {
	box := rl.Box{Dims: []int{1}}
	hosts := func(spec env.Spec) func(*rl.Scope, int, any) (env.Batch, error) {
		return func(s *rl.Scope, n int, _ any) (env.Batch, error) {
			return env.Hosts(s, n, spec, func(i int) (env.Host, error) {
				if i == 3 {
					return nil, errors.New("no window")
				}
				return &counter{}, nil
			})
		}
	}
	for _, x := range []struct {
		name string
		new  func(*rl.Scope, int, any) (env.Batch, error)
		n    int
		want []string
	}{
		{"none", hosts(env.Spec{ID: "x", Obs: box, Action: box}), 0, []string{"0 environments asked for, at least 1"}},
		{"empty spec", hosts(env.Spec{Limit: -1}), 1, []string{"no ID", "no observation space", "no action space", "-1 steps is negative"}},
		{"block", hosts(env.Spec{ID: "x", Obs: box, Action: box, Block: 4}), 6, []string{"6 environments are not a multiple of its block of 4"}},
		{"agents", hosts(env.Spec{ID: "x", Obs: box, Action: box, Agents: 2}), 1, []string{"a host environment has one"}},
		{"bounds", hosts(env.Spec{
			ID: "x", Obs: rl.Box{Low: []float64{0, 0}, Dims: []int{3}}, Action: rl.Box{Low: []float64{1}, High: []float64{0}, Dims: []int{1}},
		}), 1, []string{"2 bounds for 3 numbers", "number 0 lies between 1 and 0"}},
		{"choices", hosts(env.Spec{ID: "x", Obs: box, Action: rl.MultiDiscrete{N: []int{2, 0}}}), 1, []string{"MultiDiscrete([2 0]) has no value"}},
		{"constructor", hosts(env.Spec{ID: "x", Obs: box, Action: box}), 5, []string{"environment 3: no window"}},
		{"failure", func(*rl.Scope, int, any) (env.Batch, error) { rl.Failf("lost"); return nil, nil }, 1, []string{"lost"}},
		{"panic", func(*rl.Scope, int, any) (env.Batch, error) { panic("oh") }, 1, []string{"oh"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := env.Open(newScope(t), env.Entry{ID: "Entry-v0", New: x.new}, x.n, nil)
			for _, want := range append(x.want, "environment Entry-v0: ") {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("got %v, want ...%s...", err, want)
				}
			}
		})
	}
}

// Two batches in one scope would share a name.
func TestOpenTwice(t *testing.T) {
	s := newScope(t)
	b, err := counters(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	open(t, s, b)
	_, err = env.Open(s, env.Entry{ID: "Counter-v0", New: func(*rl.Scope, int, any) (env.Batch, error) { return b, nil }}, 1, nil)
	if err == nil || !strings.Contains(err.Error(), `two components are called "env"`) {
		t.Errorf("got %v", err)
	}
}

func TestTooManyShards(t *testing.T) {
	_, err := counters(newScope(t).Shard(0, 5), 3)
	if err == nil || !strings.Contains(err.Error(), "too few to give every replica some") {
		t.Errorf("got %v", err)
	}
}

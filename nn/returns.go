package nn

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// Returns scale rewards by the deviation of the discounted return that they add
// up to, so that one learning rate suits tasks with rewards of any size. It
// follows each environment's return from its past rewards,
//
//	R <- gamma R + reward, and 0 where an episode ends,
//
// and keeps statistics of all the values that R takes. Like rl.Stats these are
// frozen during an iteration and updated once from its batch.
//
// It registers itself for the environments' returns, and its statistics, which
// travel with the weights, under name/stats.
//
//weft:component returns axis=environments home=apply
//weft:part stats statistics axis=none home=apply copyable
type Returns struct {
	gamma   float64
	running rl.Tensor // [env]
	stats   *rl.Stats
	follow  *rl.Func[followIn, followOut]
	aside   rl.Narrowed
}

type followIn struct{ Running, Reward, Done rl.Tensor }

type followOut struct{ Running, Returns rl.Tensor }

// NewReturns returns returns of the given number of environments, those that this
// replica owns; several replicas all follow all environments, because every one
// sees the rewards of all. clip bounds scaled rewards, 0 is no bound; 10 is usual.
//
//weft:makes name=1
//weft:sizes 2
func NewReturns(s *rl.Scope, name string, envs int, gamma, clip float64) *Returns {
	if own := s.Envs(); envs == own.Len() {
		envs = max(envs, own.Of)
	}
	r := &Returns{gamma: gamma, running: rl.FromFlat(s, make([]float32, envs), envs)}
	s.Register(name, r)
	r.stats = rl.NewStats(s, name+"/stats", clip)
	r.follow = rl.NewFunc(s, name, r.graph)
	return r
}

// Update follows an iteration's rewards, [env, time]. done is where an episode
// ended, in either way.
//
//weft:op update writes state=stats whole shards=all
func (r *Returns) Update(reward, done rl.Tensor) {
	out := r.follow.Call(rl.Key{}, followIn{r.running, reward, done})
	r.stats.Update(out.Returns)
	r.running = out.Running
}

// Scale returns rewards of any shape divided by the deviation of returns. Before the
// first update they stay as they are.
//
//weft:traces
func (r *Returns) Scale(c *rl.Ctx, reward *Node) *Node { return r.stats.Scale(c, number(reward)) }

// graph returns the recurrence R[t] = decay[t] R[t-1] + reward[t].
func (r *Returns) graph(_ *rl.Ctx, in followIn) followOut {
	reward := number(in.Reward.Node())
	goesOn := ConvertDType(LogicalNot(truth(in.Done.Node())), dtypes.Float32)
	// The first step's decay is of what an earlier iteration left, which is 0
	// already where an episode ended.
	first := Add(column1(reward, 0), MulScalar(ExpandAxes(in.Running.Node(), -1), r.gamma))
	x, decay := first, ZerosLike(first)
	if steps := reward.Shape().Dimensions[1]; steps > 1 {
		x = Concatenate([]*Node{first, SliceAxis(reward, 1, AxisRange(1))}, 1)
		decay = Concatenate([]*Node{decay, MulScalar(SliceAxis(goesOn, 1, AxisRange(0, steps-1)), r.gamma)}, 1)
	}
	x = recur(decay, x)
	steps := x.Shape().Dimensions[1]
	left := Mul(column1(x, steps-1), column1(goesOn, steps-1))
	return followOut{rl.Wrap(Squeeze(left, 1)), rl.Wrap(x)}
}

// recur returns y[t] = decay[t] y[t-1] + x[t] over axis 1, for decay[0] = 0. It
// doubles the stretch that every y covers, so that the graph grows with the
// logarithm of time.
func recur(decay, x *Node) *Node {
	for n := 1; n < x.Shape().Dimensions[1]; n *= 2 {
		x = Add(x, Mul(decay, ShiftWithScalar(x, 1, ShiftDirRight, n, 0)))
		decay = Mul(decay, ShiftWithScalar(decay, 1, ShiftDirRight, n, 0))
	}
	return x
}

// column1 returns time t of [env, time], as [env, 1].
func column1(x *Node, t int) *Node { return SliceAxis(x, 1, AxisElem(t)) }

// Resident returns the environments' returns.
func (r *Returns) Resident() []rl.Carried { return []rl.Carried{rl.Carry(&r.running)} }

// Axis returns that there is a row for each environment.
func (r *Returns) Axis() rl.Axis { return rl.Envs }

// Narrow leaves the returns of some environments.
func (r *Returns) Narrow(to []rl.Span) { r.running = r.aside.Narrow([]rl.Tensor{r.running}, to)[0] }

// Widen puts them back.
func (r *Returns) Widen() { r.running = r.aside.Widen([]rl.Tensor{r.running})[0] }

// Save puts the environments' returns.
func (r *Returns) Save(s *rl.State) { s.Put("running", r.running) }

// Load restores what Save saved.
func (r *Returns) Load(s *rl.State) error {
	running := s.GetLike("running", r.running)
	if s.Err() == nil {
		r.running = running
	}
	return s.Err()
}

// Stats returns the statistics, which remote readers have copies of.
func (r *Returns) Stats() *rl.Stats { return r.stats }

package tag

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// plain is the game once more, one environment, agent by agent, in float64.
type plain struct {
	Options
	players []player
	time    int
}

type player struct {
	x, y, speed, heading, push float64
	tagger, in                 bool
}

// plainOf returns row i of a batch of states, by their leaves' names.
func plainOf(o Options, state map[string][]float64, i int) *plain {
	g := &plain{Options: o, time: int(state["time"][i])}
	n := o.Taggers + o.Runners
	at := func(name string, j int) float64 { return state[name][i*n+j] }
	for j := range n {
		p := player{at("x", j), at("y", j), at("speed", j), at("heading", j), at("push", j), j < o.Taggers, true}
		if o.Leave && !p.tagger {
			p.in = state["playing"][i*o.Runners+j-o.Taggers] == 1
		}
		g.players = append(g.players, p)
	}
	return g
}

// numbers returns a tree's, by the names of its leaves.
func numbers(t rl.Tree) map[string][]float64 {
	out := map[string][]float64{}
	for i, name := range t.Names() {
		out[name] = rl.Floats(t.At(i))
	}
	return out
}

func levelOf(choice, levels int, most float64) float64 {
	if choice == 0 {
		return 0
	}
	return -most + 2*most*float64(choice-1)/float64(levels-1)
}

// result holds what a step gives each agent. Doubt is true where float32 may see it
// otherwise: a runner at the very edge of a tagger's reach, or as near to two, or a
// wall that costs something just met.
type result struct {
	reward      []float64
	ended       []bool
	over, doubt bool
	tags, walls int
}

func (g *plain) step(moves [][2]int) result {
	r := result{reward: make([]float64, len(g.players)), ended: make([]bool, len(g.players))}
	g.time++
	for i := range g.players {
		if p := &g.players[i]; p.in {
			r.reward[i] = g.advance(p, moves[i], &r)
		}
	}
	for i := range g.players {
		if p := &g.players[i]; !p.tagger && p.in {
			g.caught(i, &r)
		}
	}
	r.over = g.time >= g.Length || g.Leave && !slices.ContainsFunc(g.players, func(p player) bool { return !p.tagger && p.in })
	for i, p := range g.players {
		r.ended[i] = r.over || !p.in
		if !p.tagger && p.in && g.time >= g.Length {
			r.reward[i] += g.EndReward
		}
	}
	return r
}

// advance moves a player, and gives what it gets for the step and for walls.
func (g *plain) advance(p *player, move [2]int, r *result) (reward float64) {
	most := g.RunnerSpeed
	if reward = g.StepReward; p.tagger {
		most, reward = g.TaggerSpeed, -g.StepPenalty
	}
	p.heading = math.Mod(p.heading+levelOf(move[1], g.TurnLevels, g.Turn/180*math.Pi)+circle, circle)
	p.push += levelOf(move[0], g.AccelerationLevels, g.Acceleration)
	p.speed += p.push
	if p.speed <= 1e-6*most || p.speed >= (1-1e-6)*most {
		p.speed, p.push = math.Max(0, math.Min(most, p.speed)), 0
	}
	x, y := p.x+p.speed*math.Cos(p.heading), p.y+p.speed*math.Sin(p.heading)
	p.x, p.y = math.Max(0, math.Min(g.Size, x)), math.Max(0, math.Min(g.Size, y))
	if beyond := math.Hypot(x-p.x, y-p.y); beyond > 0 {
		r.walls++
		reward -= g.EdgePenalty
		r.doubt = r.doubt || beyond < 1e-5 && g.EdgePenalty > 0
	} else if edge := min(x, y, g.Size-x, g.Size-y); edge < 1e-5 && p.speed > 0 && g.EdgePenalty > 0 {
		r.doubt = true
	}
	return reward
}

// caught decides what happens to a runner in play after all have moved.
func (g *plain) caught(i int, r *result) {
	p := &g.players[i]
	order := g.by(i, func(q player) bool { return q.tagger })
	d := g.far(i, order[0])
	r.doubt = r.doubt || math.Abs(d-g.Reach*g.Size) < 1e-5
	if d >= g.Reach*g.Size {
		return
	}
	r.doubt = r.doubt || len(order) > 1 && g.far(i, order[1])-d < 1e-4
	r.tags++
	r.reward[i] -= g.TagPenalty
	r.reward[order[0]] += g.TagReward
	p.in = !g.Leave
}

func (g *plain) far(i, j int) float64 {
	return math.Hypot(g.players[i].x-g.players[j].x, g.players[i].y-g.players[j].y)
}

// by returns the players but i that are wanted and in play, nearest first.
func (g *plain) by(i int, want func(player) bool) (out []int) {
	for j, q := range g.players {
		if j != i && q.in && want(q) {
			out = append(out, j)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(g.far(i, a), g.far(i, b)) })
	return out
}

// observe returns what player i sees. It is not sure where two are as near as each other.
func (g *plain) observe(i int) (out []float64, sure bool) {
	p := g.players[i]
	top := math.Max(g.TaggerSpeed, g.RunnerSpeed)
	own := []float64{
		2*p.x/g.Size - 1, 2*p.y/g.Size - 1, p.speed / top, p.push / top, math.Cos(p.heading), math.Sin(p.heading),
		float64(g.time) / float64(g.Length),
	}
	other := g.by(i, func(q player) bool { return q.tagger != p.tagger })
	mates := g.by(i, func(q player) bool { return q.tagger == p.tagger })
	kinds := []int{g.Taggers, g.Runners}
	if !p.tagger {
		slices.Reverse(kinds)
	}
	places := kinds[1]
	if g.Neighbours > 0 {
		places = min(places, g.Neighbours)
	} else { // a place for everybody
		first := 0
		if p.tagger {
			first = g.Taggers
		}
		fixed := make([]int, places)
		for k := range fixed {
			if fixed[k] = -1; g.players[first+k].in {
				fixed[k] = first + k
			}
		}
		other = fixed
	}
	a, sureA := g.look(i, other, places, g.Neighbours > 0)
	b, sureB := g.look(i, mates, min(g.Mates, kinds[0]-1), true)
	out = slices.Concat(own, a, b)
	if !p.in {
		clear(out)
	}
	return out, sureA && sureB
}

// look returns what player i sees of some, in so many places: all that is of one sort
// together.
func (g *plain) look(i int, who []int, places int, ordered bool) (out []float64, sure bool) {
	p := g.players[i]
	top := math.Max(g.TaggerSpeed, g.RunnerSpeed)
	out, sure = make([]float64, seenWidth*places), true
	for k := range min(places, len(who)) {
		j := who[k]
		if j < 0 {
			continue
		}
		q, d := g.players[j], g.far(i, j)
		if ordered && k+1 < len(who) && g.far(i, who[k+1])-d < 1e-3*d {
			sure = false
		}
		bearing := math.Atan2(q.y-p.y, q.x-p.x) - p.heading
		vx := q.speed*math.Cos(q.heading) - p.speed*math.Cos(p.heading)
		vy := q.speed*math.Sin(q.heading) - p.speed*math.Sin(p.heading)
		speed, course := math.Hypot(vx, vy), math.Atan2(vy, vx)-p.heading
		for f, x := range []float64{
			math.Cos(bearing), math.Sin(bearing), d / g.Size, speed * math.Cos(course) / top, speed * math.Sin(course) / top, 1,
		} {
			out[f*places+k] = x
		}
		sure = sure && d > 1e-3 // or directions are noise
	}
	return out, sure
}

// Every step of games at random, from where the environment itself is.
func TestReference(t *testing.T) {
	dev, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		if v.options.RunnerPolicy == random {
			continue // its draws are the environment's own
		}
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			compareGames(t, rl.NewScope(dev, 3), game{*v.options})
		})
	}
}

func compareGames(t *testing.T, s *rl.Scope, d game) {
	const envs = 12
	reset := rl.NewFunc(s, "reset", func(c *rl.Ctx, _ rl.Tensor) rl.Tree { return d.Reset(c, envs) })
	at, f, key := reset.Call(s.Key("reset"), rl.Scalar(0)), d.stepper(s), s.Key("moves")
	var steps, doubts, agents, unsure, tags, walls, ends int
	for now := range d.Length + 2 {
		moves := make([][][2]int, envs)
		for e := range moves {
			for a := range d.agents() {
				place := 2 * (e*d.agents() + a)
				m := [2]int{key.IntN(now, place, d.AccelerationLevels+1), key.IntN(now, place+1, d.TurnLevels+1)}
				if d.RunnerPolicy == still && a >= d.Taggers {
					m = [2]int{}
				}
				moves[e] = append(moves[e], m)
			}
		}
		out := f.Call(rl.Key{}, stepIn{at, d.actions(s, moves)})
		before, after := numbers(at), outcomeOf(out)
		for e := range envs {
			g := plainOf(d.Options, before, e)
			want := g.step(moves[e])
			steps++
			if want.doubt {
				doubts++
				continue
			}
			tags, walls = tags+want.tags, walls+want.walls
			if want.over {
				ends++
			}
			d.compareStep(t, after, e, want)
			for i := range d.agents() {
				if i >= d.Taggers && len(after.obs) == 1 {
					break
				}
				agents++
				if !d.compareSight(t, after, e, i, g) {
					unsure++
				}
			}
			if t.Failed() {
				t.Fatalf("environment %d, step %d", e, now)
			}
		}
		at = out.State
	}
	t.Logf("%d steps, %d in doubt, %d tags, %d walls, %d ends; %d sights, %d in doubt", steps, doubts, tags, walls, ends, agents, unsure)
	if doubts > steps/5 || unsure > agents/10 || tags == 0 || walls == 0 || ends == 0 {
		t.Error("too little was compared")
	}
}

// outcome holds the results of a step of the environments, by kind.
type outcome struct {
	reward, ended, obs [][]float64
	over               []float64
}

func outcomeOf(out stepOut) outcome {
	o := outcome{over: rl.Floats(out.Over)}
	for i := range out.Reward {
		o.reward = append(o.reward, rl.Floats(out.Reward[i]))
		o.ended = append(o.ended, rl.Floats(out.Terminated[i]))
		o.obs = append(o.obs, rl.Floats(out.Obs[i].X.At(0)))
	}
	return o
}

// kindOf returns which kind of agent i is, its number there, and how many there are.
func (d game) kindOf(i int) (kind, number, of int) {
	if i < d.Taggers {
		return 0, i, d.Taggers
	}
	return 1, i - d.Taggers, d.Runners
}

func (d game) compareStep(t *testing.T, out outcome, e int, want result) {
	t.Helper()
	for i := range d.agents() {
		kind, number, of := d.kindOf(i)
		if kind == len(out.reward) {
			break
		}
		if got := out.reward[kind][e*of+number]; math.Abs(got-want.reward[i]) > 1e-5 {
			t.Errorf("reward of agent %d is %v, want %v", i, got, want.reward[i])
		}
		if got := out.ended[kind][e*of+number] == 1; got != want.ended[i] {
			t.Errorf("end of agent %d is %v, want %v", i, got, want.ended[i])
		}
	}
	if got := out.over[e] == 1; got != want.over {
		t.Errorf("over is %v, want %v", got, want.over)
	}
}

func (d game) compareSight(t *testing.T, out outcome, e, i int, g *plain) (sure bool) {
	t.Helper()
	want, sure := g.observe(i)
	if !sure {
		return false
	}
	kind, number, of := d.kindOf(i)
	w := d.width(kind)
	got := out.obs[kind][(e*of+number)*w:][:w]
	if len(want) != w {
		t.Fatalf("%d numbers, want %d", w, len(want))
	}
	for k, x := range want {
		if math.Abs(got[k]-x) > 3e-4 { // directions to those who are very near
			t.Errorf("agent %d sees %v as number %d, want %v", i, got[k], k, x)
		}
	}
	return true
}

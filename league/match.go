package league

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/nash"
	"github.com/weft-rl/weft/rl"
)

// Matchmaking says whom learners play, as settings for an algorithm to embed.
type Matchmaking struct {
	Opponents  string  `default:"nash" oneof:"nash uniform latest prioritised" doc:"frozen policies that learners play: an equilibrium among them, all alike, the latest, or those that the latest policy beats least"`
	Exploiters int     `default:"0" unit:"responses" range:"[0,)" doc:"every so-manyth response is an exploiter, which learns against the other side's latest policy alone; 0 is none"`
	Sparring   float64 `default:"0" range:"[0,1]" doc:"share of the games in which both sides' learners play each other"`
}

// Respond sets the chances of casts to games from which learners learn: in each a learner of one
// side plays a policy of the other.
//
//weft:op op writes whole
func (l *League) Respond(m Matchmaking) {
	l.check()
	mix := l.mixtures(m)
	against := mix
	if m.Exploiters > 0 && slices.Max(l.born[0])%int64(m.Exploiters) == 0 {
		against = l.mixtures(Matchmaking{Opponents: "latest"})
	}
	games := make([]float64, l.pairs())
	for number := range l.numbers {
		games[l.pair(number, 0)] += (1 - m.Sparring) / 2 * against[0][number]
		games[l.pair(0, number)] += (1 - m.Sparring) / 2 * against[1][number]
	}
	games[l.pair(0, 0)] += m.Sparring
	l.set(cumulated(l.scope, games), cumulated(l.scope, mix[0]), cumulated(l.scope, mix[1]))
}

// Compare sets the chances of casts to games between frozen policies, most of them where the fewest
// were played.
//
//weft:op op writes whole
func (l *League) Compare() {
	games := make([]float64, l.pairs())
	for _, a := range l.policies(0) {
		for _, b := range l.policies(1) {
			at := l.pair(a, b)
			games[at] = 1 / ((1 + l.games[at]) * (1 + l.games[at]))
		}
	}
	now := l.chances.Tensors()
	l.set(cumulated(l.scope, games), now[1], now[2])
}

// mixtures returns the chances of both sides' policies, by number.
func (l *League) mixtures(m Matchmaking) (mix [2][]float64) {
	g := nash.Solve(l.matrix())
	for side, nash := range [][]float64{g.Row, g.Col} {
		mix[side] = make([]float64, l.numbers)
		total := 0.
		for i, number := range l.policies(side) {
			mix[side][number] = l.weight(m, side, i, number, nash[i])
			total += mix[side][number]
		}
		for number := range mix[side] {
			mix[side][number] /= total
		}
	}
	return mix
}

// weight returns how likely a side's i-th policy is to play; nash is its chance in an equilibrium.
func (l *League) weight(m Matchmaking, side, i, number int, nash float64) float64 {
	switch m.Opponents {
	case "nash":
		return nash
	case "latest":
		if i < len(l.policies(side))-1 {
			return 0
		}
	case "prioritised":
		lost := 1 - l.winRate(1-side, number)
		return max(lost*lost, 1e-6)
	}
	return 1
}

// winRate returns the part of games that the latest policy of a side wins against a policy of the
// other side; a half if none was played.
func (l *League) winRate(side, against int) float64 {
	mine := l.policies(side)
	latest := mine[len(mine)-1]
	at := l.pair(latest, against)
	if side == 1 {
		at = l.pair(against, latest)
	}
	switch {
	case l.games[at] == 0:
		return .5
	case side == 1:
		return 1 - l.wins[at]/l.games[at]
	}
	return l.wins[at] / l.games[at]
}

// set replaces the chances: of games by cast, of both sides' policies by number.
func (l *League) set(games, first, second rl.Tensor) {
	if err := l.chances.Adopt([]rl.Tensor{games, first, second}); err != nil {
		rl.Failf("the league's chances: %w", err)
	}
	l.version++
}

// mixed returns the chances of a side's policies that are set now, by number.
func (l *League) mixed(side int) []float64 {
	sums := rl.Read[float32](l.chances.Tensors()[1+side])
	out := make([]float64, len(sums))
	last := float32(0)
	for i, x := range sums {
		out[i], last = float64(x-last), x
	}
	return out
}

// cumulated returns chances in proportion to weights as their running sums, which end with 1.
func cumulated(s *rl.Scope, weights []float64) rl.Tensor {
	total := 0.
	for _, w := range weights {
		total += w
	}
	out, sum := make([]float32, len(weights)), 0.
	for i, w := range weights {
		sum += w
		out[i] = float32(sum / total)
	}
	return rl.FromFlat(s, out, len(out))
}

// Likeliest returns the greatest of some chances, of several the first: a scalar int32.
func Likeliest(chances *Node) *Node {
	before := ShiftWithScalar(chances, 0, ShiftDirRight, 1, 0)
	return ArgMax(Sub(chances, before), 0, dtypes.Int32)
}

// Pick returns which of some chances numbers in (0,1), [n], fall on: [n] int32.
func Pick(chances, u *Node) *Node {
	below := GreaterThan(ExpandAxes(u, 1), ExpandAxes(chances, 0)) // chances that end before u
	return ReduceSum(ConvertDType(below, dtypes.Int32), 1)
}

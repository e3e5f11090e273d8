package game

import (
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Options are the settings of a game's environments.
type Options struct {
	Opponent string `default:"random" oneof:"random perfect none" doc:"who has the other seat: random plays any legal move, perfect one of the best moves (if the game is solved), none makes both seats agents"`
	Seat     Side   `default:"any" oneof:"any first second" doc:"the agent's seat; any draws one for each game"`
}

// Entry offers a game under an id. Algorithms that learn by self-play have both seats, whatever the
// options say; their evaluations, and other algorithms, play against the opponent.
func Entry(id, doc string, g Game) env.Entry {
	return env.Entry{
		ID: id, Doc: doc,
		Options: func() any { return &Options{"random", Any} },
		New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
			o, ok := options.(*Options)
			if !ok || o == nil {
				return nil, fmt.Errorf("options are %T, want %T as its entry's Options makes", options, o)
			}
			d, err := o.dynamics(id, g)
			if err != nil {
				return nil, err
			}
			return env.Graph(s, n, d)
		},
		SelfPlay: func(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, SelfPlay(id, g)) },
	}
}

func (o Options) dynamics(id string, g Game) (env.Dynamics, error) {
	switch o.Seat {
	case Any, First, Second:
	default:
		return nil, fmt.Errorf("option seat is %q, want any, first or second", o.Seat)
	}
	switch o.Opponent {
	case "none":
		return Seats(id, g), nil
	case "random":
		return Against(id, g, g.Legal, o.Seat), nil
	case "perfect":
		if p, ok := g.(Perfect); ok {
			return Against(id, g, p.Best, o.Seat), nil
		}
		return nil, fmt.Errorf("option opponent is perfect, and %s has no table of best moves: use random", g.Rules().Name)
	}
	return nil, fmt.Errorf("option opponent is %q, want random, perfect or none", o.Opponent)
}

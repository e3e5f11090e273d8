package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/play"
	"github.com/weft-rl/weft/internal/run/runner"
)

// playFlags are the flags of play.
type playFlags struct {
	weightFlags
	second, sample bool
	set            changes
}

func (c *command) play() *cobra.Command {
	var f playFlags
	set := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "play RUN",
		Short: "Play a game against a run's policy",
		Long: "Play lets you play a game on a board against a run's policy in the terminal. A policy that searches also\n" +
			"shows the return it expects and the shares of its visits. Seats change from game to game.",
		Example: "  weft play runs/alphazero-board-TicTacToe-v0-seed1\n" +
			"  weft play runs/alphazero-board-ConnectFour-v0-seed1 --second --set simulations=400",
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runPlay(cmd.Context(), args[0], set.changed(cmd), f, cmd.InOrStdin())
		},
	}
	cmd.Flags().BoolVar(&f.second, "second", false, "have the second seat in the first game")
	cmd.Flags().BoolVar(&f.sample, "sample", false, "let the policy act as in training instead of greedily")
	f.weightFlags.flags(cmd, "play against")
	f.set.flag(cmd)
	c.settingFlags(cmd, set, []string{"device"})
	return cmd
}

func (c *command) runPlay(ctx context.Context, dir string, flags []config.Assignment, f playFlags, in io.Reader) error {
	if err := f.check(); err != nil {
		return err
	}
	r, job, err := c.savedJob(ctx, dir, flags, f.set)
	if r == nil || err != nil {
		return err
	}
	c.started = true
	b, err := loadBot(ctx, job, f.which(), !f.sample)
	if err != nil {
		return err
	}
	defer b.player.Close() //nolint:errcheck // the process ends
	seat := 0
	if f.second {
		seat = 1
	}
	t := &play.Table{Game: b.rules, Bot: b, In: in, Out: c.out}
	if err := t.Check(); err != nil {
		return err
	}
	return t.Play(seat)
}

// loadBot loads the policy of a run on a game.
func loadBot(ctx context.Context, job runner.Job, which runner.Weights, greedy bool) (*bot, error) {
	job.Watch = runner.Silent{}
	p, _, _, err := runner.LoadPlayer(ctx, job, which)
	if err != nil {
		return nil, err
	}
	rules, ok := game.Of(p.Envs())
	if !ok {
		err = fmt.Errorf("%s is no game for two players: train on one of board/, as in --env board/TicTacToe-v0", job.Env.ID)
	} else if len(job.Wrap.Changing()) > 0 {
		err = fmt.Errorf("the run's wrappers (%s) change what the policy sees: games need a run without", job.Wrap)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &bot{rules: rules, player: p, greedy: greedy, memory: map[int][]map[string][]float64{}}, nil
}

// bot is a run's policy as a player at a table.
type bot struct {
	rules  game.Game
	player *runner.Player
	greedy bool
	memory map[int][]map[string][]float64 // in a match, by game
}

// Begin lets the policy forget the game before.
func (b *bot) Begin() { b.player.Reset() }

// Move asks the policy.
func (b *bot) Move(position []float32) (m play.Move, err error) {
	actions, why, err := b.player.Think(b.view(position), b.greedy)
	if err != nil {
		return m, err
	}
	return play.Move{Action: b.action(actions, position), Policy: why[0].Policy, Value: why[0].Value}, nil
}

// Moves asks the policy about many games at once. It acts greedily.
func (b *bot) Moves(games []int, positions [][]float32) ([]int, error) {
	asks := make([]runner.Ask, len(games))
	for i, g := range games {
		var err error
		if asks[i], err = b.player.Ask(b.view(positions[i]), b.memory[g]); err != nil {
			return nil, err
		}
	}
	told, err := b.player.Decide(asks)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(games))
	for i, g := range games {
		out[i], b.memory[g] = b.action(told[i].Actions, positions[i]), told[i].Memory
	}
	return out, nil
}

// agents returns how many agents the policy acts for at once.
func (b *bot) agents() int { return max(1, b.player.Specs()[0].Agents) }

// action returns the action of the seat to move.
func (b *bot) action(actions []map[string][]float64, position []float32) int {
	return int(actions[0][""][int(position[game.SeatAt])*(b.agents()-1)])
}

// view returns what the policy sees of a position. One of two agents is asked as the one to move,
// the other as the one that waits.
func (b *bot) view(position []float32) []runner.Seen {
	out := runner.Seen{X: map[string][]float64{}, Legal: map[string][]bool{}, State: floats(position)}
	for i := range b.agents() {
		who := i
		if b.agents() == 1 {
			who = int(position[game.SeatAt])
		}
		obs, legal := b.seen(position, who)
		out.X[""], out.Legal[""] = append(out.X[""], obs...), append(out.Legal[""], legal...)
	}
	return []runner.Seen{out}
}

// seen returns what a seat sees and may do.
func (b *bot) seen(position []float32, seat int) ([]float64, []bool) {
	r, host := b.rules.Rules(), b.rules.Host()
	obs, legal := make([]float32, r.Seen), make([]bool, r.Actions)
	host.Observe(position, seat, obs)
	if host.Legal(position, legal); seat != int(position[game.SeatAt]) {
		clear(legal)
		legal[0] = true
	}
	return floats(obs), legal
}

func floats(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}

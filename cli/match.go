package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/play"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/rl"
)

// runMatch plays games between the policies of two runs.
func (c *command) runMatch(ctx context.Context, dir string, flags []config.Assignment, f evalFlags) error {
	switch {
	case f.episodes%2 != 0:
		return fmt.Errorf("--episodes: %d is odd, and games of a match are pairs with the sides exchanged", f.episodes)
	case f.openings < 0:
		return fmt.Errorf("--openings: %d is not a number of moves", f.openings)
	case f.sample || f.video != "" || f.record != "":
		return errors.New("--against: matches are played greedily and are not recorded: leave out --sample, --video and --record")
	}
	r, job, err := c.savedJob(ctx, dir, flags, f.set)
	if r == nil || err != nil {
		return err
	}
	other, otherJob, err := c.savedJob(ctx, f.against, nil, nil)
	if other == nil || err != nil {
		return err
	}
	c.started = true
	sides := make([]*bot, 2)
	for i, j := range []runner.Job{job, otherJob} {
		if sides[i], err = loadBot(ctx, j, f.which(), true); err != nil {
			return err
		}
		defer sides[i].player.Close() //nolint:errcheck // the process ends
	}
	rules := sides[0].rules.Rules()
	if name := sides[1].rules.Rules().Name; name != rules.Name {
		return fmt.Errorf("--against: %s plays %s, and %s plays %s", f.against, name, dir, rules.Name)
	}
	openings := rl.NewKey(r.Seed).Use("openings")
	m := play.Match{Game: sides[0].rules, Pairs: f.episodes / 2, Openings: f.openings, Draw: openings.IntN}
	x, err := m.Play(sides[0], sides[1])
	if err != nil {
		return err
	}
	return c.matched(x, rules.Name, f)
}

// matched prints how a match ended.
func (c *command) matched(x play.Result, name string, f evalFlags) error {
	if f.json {
		return json.NewEncoder(c.out).Encode(map[string]any{"event": "match", "game": name, "result": x})
	}
	_, err := fmt.Fprintf(c.out, "%d games of %s against %s, from openings of %d moves: %d won, %d drawn, %d lost\nElo %+.0f (95 %% interval %+.0f to %+.0f), return %.2f\n",
		x.Wins+x.Draws+x.Losses, name, f.against, f.openings, x.Wins, x.Draws, x.Losses, x.Elo.Value, x.Elo.Low, x.Elo.High, x.Return)
	return err
}

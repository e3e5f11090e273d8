package gym

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// AtariOptions are the settings of an Atari game: those of every environment, and
// the usual preprocessing (Mnih et al. 2015, as common code does it).
type AtariOptions struct {
	Options
	Preprocess   string `default:"auto" oneof:"auto on off" doc:"apply Atari's preprocessing, as set below; auto is on for atari: and off for gym:"`
	FrameSkip    int    `default:"4" unit:"frames" range:"[1,)" doc:"frames for which an action is repeated; the observation is the maximum of the last two"`
	Grey         bool   `default:"true" doc:"convert images to grey"`
	Size         int    `default:"84" unit:"pixels" range:"[1,)" doc:"height and width to which images are resized, by area"`
	Stack        int    `default:"4" unit:"images" range:"[1,)" doc:"images stacked in an observation, the newest as the last channel"`
	EpisodicLife bool   `default:"true" doc:"end the episode when a life is lost; the next one continues the game"`
	ClipReward   bool   `default:"true" doc:"clip rewards to -1, 0 or 1"`
	NoopMax      int    `default:"30" unit:"frames" range:"[0,)" doc:"upper bound of the random number of frames without an action at the start of a game"`
	FireReset    bool   `default:"true" doc:"fire at the start of games that wait for it"`
}

// atariArgs is the same as workers are told.
type atariArgs struct {
	FrameSkip    int  `json:"frame_skip"`
	Grey         bool `json:"grey"`
	Size         int  `json:"size"`
	Stack        int  `json:"stack"`
	EpisodicLife bool `json:"episodic_life"`
	ClipReward   bool `json:"clip_reward"`
	NoopMax      int  `json:"noop_max"`
	FireReset    bool `json:"fire_reset"`
}

func atariDefaults() any {
	return &AtariOptions{
		Options: defaults(), Preprocess: "auto", FrameSkip: 4, Grey: true, Size: 84, Stack: 4,
		EpisodicLife: true, ClipReward: true, NoopMax: 30, FireReset: true,
	}
}

// AtariScheme offers Atari games with the usual preprocessing, as atari:Breakout.
var AtariScheme = env.Scheme{
	Prefix:   "atari",
	Doc:      "an Atari game by its name, with the usual preprocessing",
	Example:  "atari:Breakout",
	Packages: []string{"gymnasium", "numpy", "ale-py"},
	Options:  atariDefaults,
	Open:     Atari,
}

// Atari offers a game of the Arcade Learning Environment with the usual
// preprocessing.
func Atari(game string) (env.Entry, error) {
	if game == "" || strings.ContainsAny(game, "/:") {
		return env.Entry{}, fmt.Errorf("%q is not a game: name one, as in atari:Breakout", game)
	}
	return atariEntry("atari:"+game, "ALE/"+game+"-v5", true), nil
}

func atariEntry(full, id string, preprocess bool) env.Entry {
	seen := new(catalogue)
	return env.Entry{
		ID: full, Doc: id + " through the Arcade Learning Environment", Kind: env.Images,
		Options: atariDefaults,
		New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
			o, ok := options.(*AtariOptions)
			if !ok {
				return nil, fmt.Errorf("its options are a %T, want *gym.AtariOptions", options)
			}
			if o.Preprocess == "off" || o.Preprocess == "auto" && !preprocess {
				return openAlone(s, n, o.Options, request{name: full, id: id, seen: seen})
			}
			return openAlone(s, n, o.constructor(), request{name: full, id: id, atari: o.ask(), seen: seen})
		},
	}
}

// ask returns the preprocessing as workers are told.
func (o *AtariOptions) ask() *atariArgs {
	return &atariArgs{o.FrameSkip, o.Grey, o.Size, o.Stack, o.EpisodicLife, o.ClipReward, o.NoopMax, o.FireReset}
}

// constructor returns the options with the emulator's own frame skip turned off, and
// with the cheapest observation, since the screen is read by the preprocessing.
func (o *AtariOptions) constructor() Options {
	out := o.Options
	args := map[string]json.RawMessage{"frameskip": value("1"), "obs_type": value("ram"), "repeat_action_probability": value("0")}
	for k, v := range out.args {
		args[k] = v
	}
	out.args = args
	return out
}

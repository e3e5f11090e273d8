// Package weft is everything that comes with Weft: the built-in algorithms and
// environments, ready for a command line (package cli) or a program (package app) of
// one's own.
package weft

import (
	"context"
	"slices"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/a2c"
	"github.com/weft-rl/weft/algo/ac"
	"github.com/weft-rl/weft/algo/alphazero"
	"github.com/weft-rl/weft/algo/awac"
	"github.com/weft-rl/weft/algo/bc"
	"github.com/weft-rl/weft/algo/cql"
	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/algo/dreamer"
	"github.com/weft-rl/weft/algo/gail"
	"github.com/weft-rl/weft/algo/impala"
	"github.com/weft-rl/weft/algo/iql"
	"github.com/weft-rl/weft/algo/maddpg"
	"github.com/weft-rl/weft/algo/mappo"
	"github.com/weft-rl/weft/algo/muzero"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/algo/psro"
	"github.com/weft-rl/weft/algo/qmix"
	"github.com/weft-rl/weft/algo/r2d2"
	"github.com/weft-rl/weft/algo/reinforce"
	"github.com/weft-rl/weft/algo/sac"
	"github.com/weft-rl/weft/algo/td3"
	"github.com/weft-rl/weft/algo/td3bc"
	"github.com/weft-rl/weft/app"
	_ "github.com/weft-rl/weft/data/debug"   // data sets that need no file
	_ "github.com/weft-rl/weft/data/parquet" // and those in files
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/gym"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/env/mujoco"
	"github.com/weft-rl/weft/env/suite"
	"github.com/weft-rl/weft/env/tag"
)

// Builtin returns what the weft command knows.
func Builtin() app.Set {
	return app.Set{
		Algorithms: []algo.Algorithm{
			ppo.Algorithm, a2c.Algorithm, dqn.Algorithm, dqn.C51, dqn.QRDQN, dqn.Rainbow, impala.Algorithm, mappo.Algorithm,
			sac.Algorithm, td3.Algorithm, td3.DDPG, reinforce.Algorithm, ac.Algorithm, r2d2.Algorithm,
			qmix.Algorithm, qmix.VDN, qmix.Independent, maddpg.Algorithm, maddpg.MATD3,
			bc.Algorithm, td3bc.Algorithm, iql.Algorithm, awac.Algorithm, cql.Algorithm, gail.Algorithm,
			alphazero.Algorithm, psro.Algorithm, muzero.Algorithm, dreamer.Algorithm,
		},
		Environments: slices.Concat(classic.All, suite.All, mpe.All, tag.All, board.All, debug.All, mujoco.All),
		Schemes:      []env.Scheme{gym.Scheme, gym.AtariScheme, gym.ZooScheme},
	}
}

// Load loads the agent of a run's folder, with the weights that evaluated best, or the newest of a
// run that was never evaluated. app.Load has the choices. Close releases the agent's environments.
func Load(run string) (*app.Agent, error) {
	return app.Load(context.Background(), Builtin(), run, app.Loading{})
}

package gym

import (
	"strings"

	"github.com/weft-rl/weft/env"
)

// kinds lists the tasks that Gymnasium and MinAtar register, without their versions, by kind. The
// kind of others is not known here: asking an environment takes a Python process.
var kinds = map[env.Kind][]string{
	env.Control: {
		"CartPole", "MountainCar", "Acrobot", "LunarLander", "FrozenLake", "FrozenLake8x8", "CliffWalking", "CliffWalkingSlippery",
		"Taxi", "Blackjack",
	},
	env.Continuous: {
		"MountainCarContinuous", "Pendulum", "LunarLanderContinuous", "BipedalWalker", "BipedalWalkerHardcore", "Ant", "HalfCheetah",
		"Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum", "InvertedPendulum", "Pusher", "Reacher", "Swimmer", "Walker2d",
	},
	env.Images: {
		"CarRacing", "MinAtar/Asterix", "MinAtar/Breakout", "MinAtar/Freeway", "MinAtar/Seaquest", "MinAtar/SpaceInvaders",
	},
}

// kindOf returns the kind of a task of Gymnasium's, or none.
func kindOf(id string) env.Kind {
	task := id
	if i := strings.LastIndex(id, "-v"); i >= 0 {
		task = id[:i]
	}
	for kind, tasks := range kinds {
		for _, t := range tasks {
			if t == task {
				return kind
			}
		}
	}
	return ""
}

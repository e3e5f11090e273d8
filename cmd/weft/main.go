// Command weft trains reinforcement-learning agents.
package main

import (
	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
)

func main() { cli.Main(weft.Builtin()) }

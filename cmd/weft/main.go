// Command weft trains reinforcement-learning agents.
package main

import (
	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/app"
)

func main() { app.Main(weft.Builtin()) }

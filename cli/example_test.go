package cli_test

import (
	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/rl"
)

// A binary of one's own knows one's own environments and algorithms beside the
// built-in ones, and has the whole command line. Its main function is this.
func ExampleMain() {
	set := weft.Builtin()
	set.Environments = append(set.Environments, env.Entry{
		ID:  "Mine-v0",
		Doc: "an environment of one's own",
		New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
			return debug.Identity.New(s, n, debug.Identity.Options())
		},
	})
	cli.Main(set)
}

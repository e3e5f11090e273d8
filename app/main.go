package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes of the command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// Main runs the command line of a binary that knows set, and exits.
func Main(set Set) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Once asked to stop, a second request is the operating system's to answer.
	context.AfterFunc(ctx, stop)
	code := Run(ctx, set, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Run is Main with everything given, for tests and for binaries with a command
// line of their own. It returns the exit code.
func Run(ctx context.Context, set Set, args []string, stdout, stderr io.Writer) int {
	c := &command{set: set, out: stdout, err: stderr}
	root := c.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var status exitStatus
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case c.started:
		fmt.Fprintf(stderr, "weft: %v\n", err)
		return exitFailed
	}
	fmt.Fprintf(stderr, "weft: %v\n", err)
	return exitUsage
}

// exitStatus is an exit code whose reason the user already knows.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// command is one invocation.
type command struct {
	set      Set
	out, err io.Writer
	started  bool // past the point where an error is one of usage
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "weft",
		Short: "Train reinforcement-learning agents",
		Long: "Weft trains reinforcement-learning agents. An algorithm is written once, as a plain Go loop;\n" +
			"how it is distributed is chosen outside of it.",
		Example:       "  weft train ppo                      # CartPole, in seconds\n  weft train ppo --env Pendulum-v1\n  weft list envs",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(c.train(), c.resume(), c.eval(), c.list(), c.check(), c.graph())
	return root
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/request"
	_ "github.com/weft-rl/weft/internal/run/store/s3" // places that begin with s3://
	"github.com/weft-rl/weft/internal/run/tracing"
)

// Exit codes of the command.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// Main runs the command line of a binary that knows set, and exits. It takes the signals SIGINT,
// SIGTERM and SIGHUP as requests to end, and, while it trains, does not end with who reads its
// output.
func Main(set app.Set) {
	ctx, stop := interruptions()
	c := &command{set: set, out: os.Stdout, err: os.Stderr, become: become, outlive: outlivePipes}
	code := c.execute(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// errHungUp is the cause of an interruption by a terminal that was closed.
var errHungUp = errors.New("the terminal was closed")

// Run does what Main does with everything given, for tests and for binaries with a command
// line of their own. It returns the exit code.
func Run(ctx context.Context, set app.Set, args []string, stdout, stderr io.Writer) int {
	c := &command{set: set, out: stdout, err: stderr}
	return c.execute(ctx, args)
}

// command is one invocation.
type command struct {
	set      request.Set
	out, err io.Writer
	args     []string
	span     *tracing.Span // span of the command; nil if it is not traced
	untrace  func(error)   // ends the span and sends what was not sent yet
	started  bool          // past the point where an error is one of usage
	// become replaces this process by another program; nil where it may not.
	become func(program string, args []string) error
	// outlive makes the process ignore that the reader of its output is gone; nil if signals are
	// handled elsewhere.
	outlive func()
}

// works lets the process outlive the readers of its output. Commands that train, or that runs
// depend on, call it.
func (c *command) works() {
	if c.outlive != nil {
		c.outlive()
	}
}

func (c *command) execute(ctx context.Context, args []string) int {
	c.args = args
	root := c.root()
	root.SetArgs(args)
	root.SetOut(c.out)
	root.SetErr(c.err)
	err := root.ExecuteContext(ctx)
	var status exitStatus
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &status):
		return int(status)
	case ctx.Err() != nil:
		fmt.Fprintln(c.err, "weft: interrupted")
		return exitInterrupted
	case c.started:
		fmt.Fprintf(c.err, "weft: %s\n", plain.Text(err.Error()))
		return exitFailed
	}
	fmt.Fprint(c.err, complaint(err))
	return exitUsage
}

// exitStatus is an exit code whose reason the user already knows.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// complaint returns what is wrong, one line to each problem.
func complaint(err error) string {
	all := request.Problems(err)
	if len(all) == 1 {
		return fmt.Sprintf("weft: %v\n", all[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "weft: %d things are wrong:\n", len(all))
	for _, e := range all {
		fmt.Fprintf(&b, "  %v\n", e)
	}
	return b.String()
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
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.Version = thisBuild().String()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(noSuchFlag)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages ", fmt.Sprintf(".FlagUsagesWrapped %d ", config.Width)))
	root.AddCommand(c.train(), c.resume(), c.sweep(), c.population(), c.eval(), c.play(), c.record(), c.data(), c.compare(), c.league(), c.plot(), c.metrics(), c.export(), c.serve(), c.ui(), c.list(), c.bench(), c.check(), c.devices(), c.graph(), c.plan(), c.profile(), c.simulate(), c.generate(), c.groupingsOf(), c.verify(),
		c.coordinator(), c.worker(), c.status(), c.stop(), c.logs(), c.drain(), c.audit(), c.delete(), c.compact(), c.certs(), c.launchers(), c.image(), c.chaos(), c.planner(), c.guest(),
		c.config(), c.doctor(), c.version(), c.completion(), c.man())
	c.completions(root)
	fold(root)
	shape(root)
	return root
}

// shape has errors about the number of arguments say how a command is written.
func shape(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			if err != nil && strings.Contains(err.Error(), "arg(s)") {
				return fmt.Errorf("%s %w: write %s", cmd.CommandPath(), err, cmd.UseLine())
			}
			return err
		}
	}
	for _, x := range cmd.Commands() {
		shape(x)
	}
}

// fold has the texts of commands fit the columns of help.
func fold(cmd *cobra.Command) {
	cmd.Long = config.Fold(cmd.Long)
	for _, x := range cmd.Commands() {
		fold(x)
	}
}

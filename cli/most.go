package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/run/coordinator"
)

// most are the flags that bound what others may have a coordinator keep.
type most struct{ runs, submission, waiting, log, program, programs int }

func (m *most) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&m.runs, "max-runs", 200, "maximum `runs` that wait or train; further ones are refused")
	flags.IntVar(&m.submission, "max-submission", 64, "maximum size of a run's configuration, in `KiB`; larger ones are refused")
	flags.IntVar(&m.waiting, "max-waiting", 8, "maximum size of the configurations of all runs that wait or train, in `MiB`; further runs are refused")
	flags.IntVar(&m.program, "max-program", 512, "maximum size of a program that a run brings, in `MiB`; larger ones are refused")
	flags.IntVar(&m.programs, "max-programs", 4096, "maximum size of all programs that runs brought, in `MiB`; those unused for longest are removed")
	flags.IntVar(&m.log, "max-log", 64, "maximum size of a run's log, in `MiB`; later lines are dropped")
}

// bounds returns what the flags say.
func (m *most) bounds() (b coordinator.Bounds, err error) {
	for _, x := range []struct {
		flag string
		n    int
	}{{"runs", m.runs}, {"submission", m.submission}, {"waiting", m.waiting}, {"log", m.log}, {"program", m.program}, {"programs", m.programs}} {
		if x.n < 1 || x.n > 1<<20 {
			return b, fmt.Errorf("--max-%s: %d is not a bound: take a number from 1 to %d", x.flag, x.n, 1<<20)
		}
	}
	b = coordinator.Bounds{Runs: m.runs, Submission: m.submission << 10, Waiting: m.waiting << 20, Log: int64(m.log) << 20, Program: int64(m.program) << 20, Programs: int64(m.programs) << 20}
	if err := b.Check(); err != nil {
		return b, fmt.Errorf("--max-submission: %w", err)
	}
	return b, nil
}

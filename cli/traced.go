package cli

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/internal/run/tracing"
)

// traceUsage is the help of --trace.
const traceUsage = "send traces of the run's phases to the OpenTelemetry collector at this `address`, such as http://localhost:4318; default: where OTEL_EXPORTER_OTLP_ENDPOINT says, if it is set"

// traced does the work of a command in a span of its name, if the command is to be traced. Trouble
// with the collector is told and does not end the run.
func (c *command) traced(ctx context.Context, endpoint, name string, do func() error) error {
	e, err := tracing.Open(ctx, endpoint, func(err error) {
		fmt.Fprintf(c.err, "weft: traces are lost: %v (the run itself is well)\n", err)
	})
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	c.span = e.Begin(name, "")
	c.untrace = func(err error) {
		c.span.End(err)
		e.Close()
	}
	err = do()
	c.untrace(err)
	return err
}

// phase begins a phase of the command.
func (c *command) phase(name string) (end func(error)) { return phase.Begin(c.span, name) }

// belong has a run belong to the command's trace.
func (c *command) belong(r *request.Request) {
	if c.span != nil {
		r.Trace, r.TraceParent = c.span, c.span.Parent()
	}
}

// handOver ends this process's part of the trace, and returns the variables by which the program
// that it becomes or starts goes on with it. They are set here too if the process is to become it.
func (c *command) handOver(becomes bool) ([]string, error) {
	if c.span == nil {
		return nil, nil
	}
	env := c.span.Env()
	c.untrace(nil)
	for _, x := range env {
		name, value, _ := strings.Cut(x, "=")
		if !becomes {
			break
		}
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return env, nil
}

// tracedParts returns what begins the spans of a worker's parts of runs; nil if they are not
// traced.
func tracedParts(e *tracing.Exporter) func(parent string, a part.Assignment) phase.Span {
	if e == nil {
		return nil
	}
	return func(parent string, a part.Assignment) phase.Span {
		return e.Begin("part", parent, phase.Text("run", a.Run), phase.Int("epoch", a.Epoch), phase.Int("worker", int64(a.Me)), phase.Int("life", a.Life))
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/observe"
)

// watched holds the flags for the log, the metrics and the health of a process of a cluster.
type watched struct {
	json    bool
	format  string
	metrics string
}

func (f *watched) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else, for a program that starts this one")
	flags.StringVar(&f.format, "log-format", string(journal.Text), "`format` of the log: text, or json with time, level, msg, process, run and worker")
	flags.StringVar(&f.metrics, "metrics", "", "`address` to serve /metrics (Prometheus), /healthz and /readyz at, such as 127.0.0.1:9700; without a host it is loopback. Off by default; there is no access control")
}

// check reports what is wrong with the flags.
func (f *watched) check() error {
	var errs []error
	if _, err := journal.Parse(f.format); err != nil {
		errs = append(errs, fmt.Errorf("--log-format: %w", err))
	}
	if f.json && f.format != string(journal.Text) {
		errs = append(errs, errors.New("--json and --log-format: give one of them"))
	}
	if f.metrics != "" {
		if _, _, err := net.SplitHostPort(f.metrics); err != nil {
			errs = append(errs, fmt.Errorf("--metrics: %w", err))
		}
	}
	return errors.Join(errs...)
}

// shape returns how lines look.
func (f *watched) shape() journal.Format {
	if f.json {
		return journal.Events
	}
	return journal.Format(f.format)
}

// logger returns the log of a process. All of them are made here.
func (f *watched) logger(out io.Writer, process string) *slog.Logger {
	return journal.New(out, f.shape(), process)
}

// observe answers at --metrics until what it returns is called. It logs where.
func (f *watched) observe(ctx context.Context, p observe.Process, log *slog.Logger) (stop func(), err error) {
	if f.metrics == "" {
		return func() {}, nil
	}
	host, port, err := net.SplitHostPort(f.metrics)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	log.Info("it answers at http://" + l.Addr().String() + "/metrics, /healthz and /readyz")
	if certs.Required(l.Addr().String(), nil) != nil {
		log.Warn("metrics are not on loopback: whoever reaches them may read the names of runs")
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := observe.Serve(ctx, l, p); err != nil {
			log.Error(fmt.Sprintf("metrics are not told any more: %v", err))
		}
	})
	return func() {
		cancel()
		serving.Wait()
	}, nil
}

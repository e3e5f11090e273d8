package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/launch"
	children "github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/etcd"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/observe"
)

// coordinatorFlags are the flags of coordinator.
type coordinatorFlags struct {
	credentials
	watched
	listen, advertise string
	data, runs        string
	etcd              []string
	user, password    string
	patience          time.Duration
	planTime          time.Duration
	most              most
	allow             allowed
	withParent        bool
	apart             string // name of the only run, if workers are on other machines
}

func (c *command) coordinator() *cobra.Command {
	f := &coordinatorFlags{}
	cmd := &cobra.Command{
		Use:   "coordinator",
		Short: "Coordinate the workers of a cluster",
		Long: "Coordinator takes runs on and hands their parts to workers; when a worker is lost, a run goes on from its last\n" +
			"checkpoint with those that are left. Its own state is in an etcd, which is part of it and listens nowhere, or\n" +
			"with --etcd in an existing one: then several coordinators may be started, of which one acts and another takes\n" +
			"over. The records and logs of runs are in its folder of runs, which those that take over must share.",
		Example: "  weft coordinator\n" +
			"  weft coordinator --listen 10.0.0.1:7700 --certs certs\n" +
			"  weft coordinator --metrics 127.0.0.1:9700 --log-format json\n" +
			"  weft coordinator --etcd https://10.0.0.2:2379,https://10.0.0.3:2379 --etcd-user weft --etcd-password-file secret --certs certs",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.works()
			ctx, stop := withParent(cmd.Context(), f.withParent)
			defer stop()
			return c.runCoordinator(ctx, f)
		},
	}
	f.credentials.flags(cmd)
	f.watched.flags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", defaultCluster, "`address` to listen on")
	flags.StringVar(&f.advertise, "advertise", "", "`address` that workers and clients connect to; default: the one it listens on")
	flags.StringVar(&f.data, "data", "coordinator", "`folder` of the embedded etcd")
	flags.StringVar(&f.runs, "runs", "runs", "`folder` of the runs' records and logs")
	flags.StringSliceVar(&f.etcd, "etcd", nil, "`endpoints` of an existing etcd to use instead of the embedded one")
	flags.StringVar(&f.user, "etcd-user", "", "`name` of the etcd user, who needs to read and write /weft/")
	flags.StringVar(&f.password, "etcd-password-file", "", "`file` that holds the etcd user's password")
	flags.DurationVar(&f.patience, "patience", 10*time.Minute, "`time` that a run waits for workers before it fails")
	flags.DurationVar(&f.planTime, "plan-time", 2*time.Minute, "`time` limit for constructing a run's trainer and environments when it is planned; a run over it fails")
	f.most.flags(cmd)
	f.allow.flags(cmd)
	flags.BoolVar(&f.withParent, children.ParentFlag, false, "exit when standard input is closed")
	_ = flags.MarkHidden(children.ParentFlag)
	flags.StringVar(&f.apart, apartFlag, "", "`name` of the run of this cluster")
	_ = flags.MarkHidden(apartFlag)
	return cmd
}

func (c *command) runCoordinator(ctx context.Context, f *coordinatorFlags) error {
	config, err := f.loadFor(f.listen)
	if err != nil {
		return err
	}
	if err := errors.Join(certs.Fits(cmp.Or(f.advertise, f.listen), config), c.set.Fit(), f.check()); err != nil {
		return err
	}
	settings := core.Defaults()
	settings.Patience = int64(f.patience / (250 * time.Millisecond))
	if settings.Patience < 1 {
		return fmt.Errorf("--patience: %v is too short", f.patience)
	}
	if f.planTime <= 0 {
		return fmt.Errorf("--plan-time: %v is too short", f.planTime)
	}
	allow, err := f.allow.folders()
	if err != nil {
		return err
	}
	bounds, err := f.most.bounds()
	if err != nil {
		return err
	}
	store, err := f.store(ctx)
	if err != nil {
		return err
	}
	c.started = true
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	log := f.logger(c.out, "coordinator")
	c.listening(f, log, l.Addr().String())
	p := newPlanner(f.planTime, memory()/2, allow)
	probe := &coordinator.Probe{}
	unobserve, err := f.observe(ctx, observe.Coordinator(probe), log)
	if err != nil {
		return errors.Join(err, l.Close(), store.Close())
	}
	defer unobserve()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watch sync.WaitGroup
	watch.Go(func() { f.keys.Tend(ctx, func(text string) { log.Warn(text) }) })
	watch.Go(func() {
		select {
		case <-store.Broken():
			cancel(store.Err())
		case <-ctx.Done():
		}
	})
	err = coordinator.Serve(ctx, coordinator.Options{
		Listener: l, Address: f.advertise, TLS: config, Store: store, Planner: p.plan, Runs: f.runs, Marks: f.apart, Core: settings, Bounds: bounds, Log: log, Probe: probe,
	})
	cancel(nil)
	watch.Wait()
	if why := context.Cause(ctx); err == nil && !errors.Is(why, context.Canceled) {
		err = why
	}
	return errors.Join(err, store.Close())
}

func (f *coordinatorFlags) store(ctx context.Context) (*etcd.Store, error) {
	if len(f.etcd) == 0 {
		return etcd.Embed(ctx, filepath.Join(f.data, "etcd"))
	}
	config, err := f.load()
	if err != nil {
		return nil, err
	}
	r := etcd.Remote{Endpoints: f.etcd, TLS: config, User: f.user}
	if f.password != "" {
		text, err := os.ReadFile(f.password)
		if err != nil {
			return nil, err
		}
		r.Password = strings.TrimSpace(string(text))
	}
	return etcd.Dial(r)
}

// listening tells where a coordinator is reached.
func (c *command) listening(f *coordinatorFlags, log *slog.Logger, address string) {
	switch f.shape() {
	case journal.Events:
		_ = json.NewEncoder(c.out).Encode(launch.NewListening(address))
	case journal.JSON:
		log.Info("it listens", "address", address)
	default:
		fmt.Fprintf(c.out, "coordinator at %s: weft worker --join %s\n", address, address)
	}
}

package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/device"
	children "github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/observe"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/internal/run/tracing"
	"github.com/weft-rl/weft/internal/run/worker"
)

// workerFlags are the flags of worker.
type workerFlags struct {
	credentials
	watched
	join           []string
	name, listen   string
	advertise      string
	cores          int
	memory         float64
	devices        []string
	store          string
	allow          allowed
	programs       programFlags
	patience       time.Duration
	connect, drain time.Duration
	withParent     bool
	apart          string // name of the only run of its cluster, if it is on another machine than its parent
}

func (c *command) worker() *cobra.Command {
	f := &workerFlags{}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Work for a coordinator",
		Long: "Worker joins a cluster and carries out what its coordinator assigns to it. When the coordinator is lost it looks\n" +
			"for it, or for the one that takes over, and goes on. A run has workers of one program: their own, so that all of\n" +
			"them are started from the same file, except while they are upgraded; or the one that the run brings, such as\n" +
			"one of an author's package, which a worker fetches, keeps and runs as a child.\n\n" +
			"Ctrl-C, SIGTERM and weft drain have a worker leave: its run is saved at its next consistent point and goes on\n" +
			"from there without it. A second signal ends it at once, as does the end of --drain-timeout; then what was done\n" +
			"since the last checkpoint is done again.",
		Example: "  weft worker --join 127.0.0.1:7700\n" +
			"  weft worker --join 10.0.0.1:7700 --listen 10.0.0.2:0 --certs certs --store /shared/runs\n" +
			"  weft worker --join 127.0.0.1:7700 --metrics 127.0.0.1:9701 --log-format json --drain-timeout 5m",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.works()
			if f.withParent { // which takes it down with the run
				ctx := cmd.Context()
				if f.apart != "" { // the engine signals all processes of a job, and the parent decides what to do
					ctx = context.WithoutCancel(ctx)
				}
				ctx, stop := withParent(ctx, true)
				defer stop()
				return c.runWorker(ctx, f, nil)
			}
			return c.runWorker(context.WithoutCancel(cmd.Context()), f, cmd.Context().Done())
		},
	}
	f.credentials.flags(cmd)
	f.watched.flags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.join, "join", nil, "`address` of the coordinator; several, separated by commas, if standbys run")
	flags.StringVar(&f.name, "name", "", "`name` in the cluster; default: host name and process id")
	flags.StringVar(&f.listen, "listen", "", "`address` to listen on for other workers; default: the one the coordinator sees this machine at, and any free port")
	flags.StringVar(&f.advertise, "advertise", "", "`address` that other workers connect to, if it differs from the one listened on; no other is tried")
	flags.IntVar(&f.cores, "cores", 0, "maximum `cores` to use; 0 is all")
	flags.Float64Var(&f.memory, "memory", 0, "maximum memory to use, in `GiB`; 0 is all, if the system reports it")
	flags.StringSliceVar(&f.devices, "devices", nil, "`devices` to offer, the preferred one first; default: those listed by weft devices")
	flags.StringVar(&f.store, "store", "runs", "`place` of checkpoints, which all workers share: a folder, or s3://HOST/BUCKET/FOLDER")
	f.allow.flags(cmd)
	f.programs.flags(cmd)
	flags.DurationVar(&f.patience, "patience", time.Minute, "`time` to look for a coordinator before the worker exits")
	flags.DurationVar(&f.drain, "drain-timeout", time.Minute, "`time` limit for the run to reach a consistent point when the worker leaves; after it the worker leaves anyway")
	flags.BoolVar(&f.withParent, children.ParentFlag, false, "exit when standard input is closed")
	_ = flags.MarkHidden(children.ParentFlag)
	flags.StringVar(&f.apart, apartFlag, "", "`name` of the run of this cluster: check that the store is the one of its other workers, and leave signals to the parent, which is on another machine")
	_ = flags.MarkHidden(apartFlag)
	flags.DurationVar(&f.connect, connectFlag, 0, "`time` without an answer after which another worker counts as unreachable; 0 is a minute")
	_ = flags.MarkHidden(connectFlag)
	return cmd
}

// apartFlag is given to the coordinator and the workers of an engine's job, which are on several
// machines, with the name of the job's run. Other jobs may have the same store and folder of runs.
const apartFlag = "apart"

// connectFlag is for tests, which have no minute.
const connectFlag = "connect"

// runWorker works until ctx is done, or until drain is closed and its run goes on without it.
func (c *command) runWorker(ctx context.Context, f *workerFlags, drain <-chan struct{}) error {
	errs := []error{c.set.Fit(), f.check()}
	if f.drain <= 0 {
		errs = append(errs, fmt.Errorf("--drain-timeout: %v is too short", f.drain))
	}
	if len(f.join) == 0 {
		errs = append(errs, errors.New("--join is needed: the address of a coordinator, such as "+defaultCluster))
	} else if f.listen == "" {
		f.listen = facing(f.join[0])
	}
	var config *tls.Config
	if len(f.join) > 0 {
		var err error
		if config, err = f.loadFor(append([]string{f.listen}, f.join...)...); err != nil {
			errs = append(errs, err)
		} else {
			errs = append(errs, certs.Fits(cmp.Or(f.advertise, f.listen), config))
		}
	}
	for _, d := range f.devices {
		errs = append(errs, device.Check(d))
	}
	allow, err := f.allow.folders()
	if err := errors.Join(append(errs, err, f.programs.check())...); err != nil {
		return err
	}
	o := worker.Options{
		Coordinators: f.join, TLS: config, Name: f.name, Memory: int64(f.memory * (1 << 30)), Devices: f.devices,
		Patience: f.patience, Log: f.logger(c.out, "worker"), Probe: &worker.Probe{}, Drain: drain, DrainTimeout: f.drain,
	}
	if err := fill(&o, f.cores); err != nil {
		return err
	}
	if f.shape() == journal.JSON { // else whoever reads knows which worker it is
		o.Log = o.Log.With(journal.Worker, o.Name)
	}
	c.started = true
	traces, err := tracing.Open(ctx, "", func(err error) { o.Log.Warn(fmt.Sprintf("traces are lost: %v", err)) })
	if err != nil {
		return err
	}
	defer traces.Close()
	m, err := newMachine(machineOptions{
		Set: &c.set, Listen: f.listen, Advertise: f.advertise, TLS: config, Store: f.store, Allow: allow, Connect: f.connect, Trace: traces,
		Log: func(text string) { o.Log.Warn(text) }, Programs: f.guests(&o),
	})
	if err != nil {
		return err
	}
	o.Runner, o.Data, o.Guest = m.Runner, m.Data, m.Guest
	if !f.withParent || f.apart != "" { // else all have what their parent has
		if o.Shared, err = shared(f.store, f.apart); err != nil {
			return errors.Join(err, m.Close())
		}
	}
	unobserve, err := f.observe(ctx, observe.Worker(o.Probe), o.Log)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	defer unobserve()
	tending, stop := context.WithCancel(ctx)
	var tend sync.WaitGroup
	tend.Go(func() { f.keys.Tend(tending, func(text string) { o.Log.Warn(text) }) })
	err = worker.Run(ctx, o)
	stop()
	tend.Wait()
	if errors.Is(err, worker.ErrStuck) {
		select {
		case <-drain: // it was to leave anyway
			return err
		default:
		}
		return c.startAgain(ctx, f, o.Log, err)
	}
	return errors.Join(err, m.Close())
}

// startAgain has this process begin anew, since nothing else ends what it is stuck in. One that has
// a parent leaves that to it.
func (c *command) startAgain(ctx context.Context, f *workerFlags, log *slog.Logger, why error) error {
	if ctx.Err() != nil || f.withParent || c.become == nil {
		return why
	}
	program, err := self()
	if err != nil {
		return errors.Join(why, err)
	}
	log.Error(fmt.Sprintf("it starts again: %v", why))
	return errors.Join(why, c.become(program, c.args))
}

// facing returns an address of this machine, with any port, that who is at another reaches:
// the one that packets to it would come from. None is sent.
func facing(address string) string {
	host := "127.0.0.1"
	if conn, err := net.Dial("udp", address); err == nil {
		host = conn.LocalAddr().(*net.UDPAddr).IP.String()
		_ = conn.Close() // nothing was sent
	}
	return net.JoinHostPort(host, "0")
}

// fill fills in what this machine and program are.
func fill(o *worker.Options, cores int) (err error) {
	if o.Host, err = os.Hostname(); err != nil {
		return err
	}
	if o.Name == "" {
		o.Name = fmt.Sprintf("%s-%d", o.Host, os.Getpid())
	}
	if o.Cores = cores; o.Cores <= 0 {
		o.Cores = runtime.NumCPU()
	}
	if o.Memory == 0 {
		o.Memory = memory()
	}
	if len(o.Devices) == 0 {
		o.Devices = usable()
	}
	o.Binary, err = binary()
	return err
}

// usable returns the devices that there are, the default one first.
func usable() (out []string) {
	for _, d := range device.List() {
		if d.Usable {
			out = append(out, d.Name)
		}
	}
	return out
}

// withParent ends with standard input, which a parent holds open for as long as it
// lives, however that ends.
func withParent(ctx context.Context, with bool) (context.Context, func()) {
	if !with {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() { // to its end, or to that of the process: nothing interrupts it before
		defer cancel()
		_, _ = os.Stdin.Read(make([]byte, 1))
	}()
	return ctx, cancel
}

// shared returns the worker's store, for the check that all workers have the same. A cluster that
// is for one run alone leaves its mark with that, where other clusters do not.
func shared(place, run string) (*worker.Shared, error) {
	s, err := store.Open(place)
	if err != nil {
		return nil, err
	}
	if run != "" {
		s = s.Under(run)
	}
	if place, err = store.Absolute(place); err != nil {
		return nil, err
	}
	return &worker.Shared{
		Place: place,
		Put:   func(ctx context.Context, mark string) error { return store.Mark(ctx, s, mark) },
		Get:   func(ctx context.Context) (string, error) { return store.Marked(ctx, s) },
	}, nil
}

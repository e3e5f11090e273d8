package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	children "github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/scratch"
)

// trainProcesses trains in processes of this machine: a coordinator and workers, all
// this very program.
func (c *command) trainProcesses(ctx context.Context, r *request.Request, f *trainFlags, workers bool) (err error) {
	if err := r.ShareAmongProcesses(f.processes, workers); err != nil {
		return err
	}
	out := f.out
	if out == "" {
		out = request.NewFolder(fmt.Sprintf("%s-seed%d", r.Name(), r.Seed))
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	return c.inProcesses(ctx, r, f, out, (*protocol.Client).Submit)
}

// spare says that some processes have nothing to do.
func spare(r *request.Request, processes int, w watcher) {
	if n := processes - r.Workers; n > 0 && processes > 1 {
		w.Note(fmt.Sprintf("%d of the %d processes are spare: the run has %d workers (--workers)", n, processes, r.Workers))
	}
}

// inProcesses starts or resumes a run in processes of its own.
func (c *command) inProcesses(ctx context.Context, r *request.Request, f *trainFlags, out string, begin func(*protocol.Client, context.Context, string, string) error) (err error) {
	w := c.watcher(r, out, f.json)
	spare(r, f.processes, w)
	h, err := newHousehold(f, filepath.Dir(out), r.Device)
	if err != nil {
		return err
	}
	c.started = true
	defer func() {
		if e := h.close(); err == nil {
			err = e
		}
	}()
	client, err := h.start(ctx)
	if err != nil {
		return err
	}
	watched, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() { h.watch(watched, cancel) })
	submit := func(ctx context.Context, name, config string) error { return begin(client, ctx, name, config) }
	err = c.follow(watched, client, r, filepath.Base(out), submit, &viewer{w: w})
	if why := context.Cause(watched); why != nil && ctx.Err() == nil {
		return why
	}
	return err
}

// launchers are the ways to start a cluster, by name.
var launchers = map[string]launch.Launcher{
	"local": children.Launcher{}, // child processes
}

// household is a cluster of this machine's, whose processes are started again when
// they die, and die with this one.
type household struct {
	data    *scratch.Folder // folder of the embedded etcd
	tls     *tls.Config     // TLS with the certificate that these processes share
	spec    launch.Spec
	cluster launch.Cluster // nil before it was started
}

func newHousehold(f *trainFlags, runs, device string) (*household, error) {
	program, err := self()
	if err != nil {
		return nil, err
	}
	data, err := scratch.New("weft-cluster-")
	if err != nil {
		return nil, err
	}
	h := &household{data: data}
	folder := filepath.Join(data.Path, "certs")
	files, err := certs.Household(folder)
	if err == nil {
		h.tls, err = files.Load()
	}
	if err != nil {
		return nil, errors.Join(err, data.Remove())
	}
	h.spec = launch.Spec{
		Program: program,
		Env:     []string{"TMPDIR=" + data.Path}, // what a process that is killed leaves goes with the rest
		Coordinator: launch.Task{Name: "coordinator", Args: append([]string{
			"coordinator", "--listen", launch.Listen, "--certs", folder, "--data", data.Path, "--runs", runs, "--patience", fmt.Sprint(returning), "--json",
		}, everything()...)},
	}
	cores, memory := max(1, runtime.NumCPU()/f.processes), gib(memory())/float64(f.processes)
	for i := range f.processes {
		name := fmt.Sprintf("w%d", i)
		h.spec.Workers = append(h.spec.Workers, launch.Task{Name: "worker " + name, Args: append([]string{
			"worker", "--join", launch.Join, "--name", name, "--store", cmp.Or(f.store, runs), "--devices", device,
			"--certs", folder, "--cores", fmt.Sprint(cores), "--memory", fmt.Sprintf("%.3f", memory), "--json",
		}, everything()...)})
	}
	return h, nil
}

// returning is how long a run waits for workers: all there are have joined before it begins, so it
// waits only for those that are started again.
const returning = time.Minute

// start starts all processes, and waits until the workers have joined. They outlive an interruption
// of the run, which they are told of in another way.
func (h *household) start(ctx context.Context) (client *protocol.Client, err error) {
	if h.cluster, err = launchers["local"].Launch(ctx, h.spec); err != nil {
		return nil, err
	}
	client = &protocol.Client{Addresses: []string{h.cluster.Address()}, TLS: h.tls, Patience: 30 * time.Second}
	gathering, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { h.watch(gathering, cancel) })
	err = client.Gather(gathering, len(h.spec.Workers))
	if err != nil {
		err = cmp.Or(context.Cause(gathering), err)
	}
	cancel(nil)
	watch.Wait()
	return client, err
}

// watch ends a run whose processes do not stay alive. It returns when ctx is done.
func (h *household) watch(ctx context.Context, end context.CancelCauseFunc) {
	select {
	case err := <-h.cluster.Failed():
		end(err)
	case <-ctx.Done():
	}
}

// close ends all processes and waits for them.
func (h *household) close() (err error) {
	if h.cluster != nil {
		err = h.cluster.Stop(context.Background())
	}
	return errors.Join(err, h.data.Remove())
}

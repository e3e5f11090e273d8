package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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
	if err := r.ShareAmongProcesses("--processes", f.processes, workers); err != nil {
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
	if n := processes - max(r.Workers, r.MaxWorkers); n > 0 && processes > 1 {
		w.Note(fmt.Sprintf("%d of the %d processes are spare: the run has %d workers (--workers)", n, processes, r.Workers))
	}
}

// inProcesses starts or resumes a run in processes of its own.
func (c *command) inProcesses(ctx context.Context, r *request.Request, f *trainFlags, out string, begin func(*protocol.Client, context.Context, string, string) error) (err error) {
	w := c.watcher(r, out, f.json)
	spare(r, f.processes, w)
	h, err := newHousehold(f, out, r.EveryDevice())
	if err != nil {
		return err
	}
	h.spec.Env = append(h.spec.Env, c.span.Env()...)
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
	watch.Go(func() { h.watch(watched, cancel, w.Note) })
	if a := f.allocation; a != nil && a.Drains != nil {
		watch.Go(func() {
			a.Drains(watched, func(slot int) {
				w.Note(fmt.Sprintf("worker %s leaves: %s drains its node", workerName(slot), f.on))
				_ = client.Drain(watched, workerName(slot)) // or it is lost, with its node
			})
		})
	}
	submit := func(ctx context.Context, name, config string) error { return begin(client, ctx, name, config) }
	err = c.follow(watched, client, r, filepath.Base(out), submit, &viewer{w: w, tell: f.tell})
	if why := context.Cause(watched); why != nil && ctx.Err() == nil {
		return why
	}
	return err
}

// launchers are the ways to start a cluster, by name.
var launchers = map[string]launch.Launcher{
	"local": children.Launcher{}, // child processes
}

// place says where the processes of a household run.
type place struct {
	launcher launch.Launcher
	slots    []launch.Slot // one for each worker
	least    int           // workers that the run begins with
	certs    string        // folder of the certificate that all of them read
	hosts    []string      // hosts that the certificate is for, beside loopback
	env      []string      // variables of all processes
	args     []string      // further arguments of the workers
	leading  []string      // further arguments of the coordinator
	apart    bool          // on several machines, of which a run can lose some
}

// place returns where the processes of a run in a folder are: on this machine, with a folder of
// their own, or in an engine's allocation.
func (f *trainFlags) place(out, data string) (p place) {
	if a := f.allocation; a != nil {
		alone := []string{"--" + apartFlag, filepath.Base(out)}
		return place{
			launcher: a.Launcher, slots: a.Slots, least: cmp.Or(a.Least, len(a.Slots)), certs: cmp.Or(a.Certs, filepath.Join(out, jobFolder, "certs")),
			hosts: []string{certs.Anywhere}, args: alone, leading: slices.Concat(a.Args, alone), apart: true,
		}
	}
	p = place{launcher: launchers["local"], least: f.processes, certs: filepath.Join(data, "certs")}
	p.env = []string{"TMPDIR=" + data} // what a process that is killed leaves goes with the rest
	cores, memory := max(1, runtime.NumCPU()/f.processes), gib(memory())/float64(f.processes)
	for range f.processes {
		p.slots = append(p.slots, launch.Slot{Cores: cores, Memory: memory})
	}
	return p
}

// household is a cluster of this command's own, whose processes are started again when they die,
// and die with this one.
type household struct {
	data    *scratch.Folder // folder of the embedded etcd
	tls     *tls.Config     // TLS with the certificate that these processes share
	at      place
	spec    launch.Spec
	cluster launch.Cluster // nil before it was started
}

func newHousehold(f *trainFlags, out string, devices []string) (*household, error) {
	program, err := self()
	if err != nil {
		return nil, err
	}
	data, err := scratch.New("weft-cluster-")
	if err != nil {
		return nil, err
	}
	runs := filepath.Dir(out)
	h := &household{data: data, at: f.place(out, data.Path)}
	err = os.RemoveAll(h.at.certs) // a job that was killed left it
	var files certs.Files
	if err == nil {
		files, err = certs.Household(h.at.certs, h.at.hosts...)
	}
	if err == nil {
		h.tls, err = files.Load()
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	h.spec = launch.Spec{
		Program: cmp.Or(f.program, program),
		Env:     h.at.env,
		Coordinator: launch.Task{Name: "coordinator", Args: append([]string{
			"coordinator", "--listen", launch.Listen, "--certs", h.at.certs, "--data", data.Path, "--runs", runs, "--patience", fmt.Sprint(returning), "--json",
		}, slices.Concat(h.at.leading, everything())...)},
	}
	for i, s := range h.at.slots {
		name := workerName(i)
		args := []string{
			"worker", "--join", launch.Join, "--name", name, "--store", cmp.Or(f.store, runs), "--devices", strings.Join(devices, ","),
			"--certs", h.at.certs, "--cores", fmt.Sprint(s.Cores), "--memory", fmt.Sprintf("%.3f", s.Memory), "--json",
		}
		if s.Address != "" {
			args = append(args, "--listen", net.JoinHostPort(s.Address, "0"))
		}
		h.spec.Workers = append(h.spec.Workers, launch.Task{Name: "worker " + name, Args: slices.Concat(args, s.Args, h.at.args, everything())})
	}
	return h, nil
}

func workerName(slot int) string { return fmt.Sprintf("w%d", slot) }

// returning is how long a run waits for workers: all there are have joined before it begins, so it
// waits only for those that are started again.
const returning = time.Minute

// start starts all processes, and waits until the workers have joined. They outlive an interruption
// of the run, which they are told of in another way.
func (h *household) start(ctx context.Context) (client *protocol.Client, err error) {
	if h.cluster, err = h.at.launcher.Launch(ctx, h.spec); err != nil {
		return nil, err
	}
	client = &protocol.Client{Addresses: []string{h.cluster.Address()}, TLS: h.tls, Patience: 30 * time.Second}
	gathering, cancel := context.WithCancelCause(ctx)
	all := *h
	all.at.apart = false // the run does not begin without one of them
	var watch sync.WaitGroup
	watch.Go(func() { all.watch(gathering, cancel, func(string) {}) })
	err = client.Gather(gathering, h.at.least)
	if err != nil {
		err = cmp.Or(context.Cause(gathering), err)
	}
	cancel(nil)
	watch.Wait()
	return client, err
}

// watch ends a run whose processes do not stay alive. On several machines that is the coordinator,
// or all workers. It returns when ctx is done.
func (h *household) watch(ctx context.Context, end context.CancelCauseFunc, note func(string)) {
	for lost := 0; ; {
		select {
		case err := <-h.cluster.Failed():
			var u launch.Unsteady
			if errors.As(err, &u) && h.at.apart && u.Member != h.spec.Coordinator.Name {
				if lost++; lost < len(h.spec.Workers) {
					note(fmt.Sprintf("goes on without a worker: %v", err))
					continue
				}
			}
			end(err)
			return
		case <-ctx.Done():
			return
		}
	}
}

// close ends all processes and waits for them.
func (h *household) close() (err error) {
	if h.cluster != nil {
		err = h.cluster.Stop(context.Background())
	}
	return errors.Join(err, os.RemoveAll(h.at.certs), h.data.Remove())
}

// Package ray runs weft commands as jobs of a Ray cluster, and launches clusters of processes
// within a job. Everything goes through a driver, a Python program that comes inside this one: a
// job is a detached actor that runs the leading command, a worker is an actor in a bundle of a
// placement group. The program that they run is part of Ray's runtime environment.
package ray

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/weft-rl/weft/internal/launch"
)

// Engine is the Ray that options and RAY_ADDRESS name, or the one of this machine. It keeps a
// driver for each address, which ends with this process.
type Engine struct {
	mu      sync.Mutex
	drivers map[string]*driver
}

var _ launch.Engine = (*Engine)(nil)

// driver returns a driver that is connected to a cluster.
func (e *Engine) driver(ctx context.Context, address, python string) (*driver, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if d := e.drivers[address]; d != nil {
		return d, nil
	}
	d, err := startDriver(ctx, address, python)
	if err != nil {
		return nil, err
	}
	if e.drivers == nil {
		e.drivers = map[string]*driver{}
	}
	e.drivers[address] = d
	return d, nil
}

// defaultAddress returns the address of the cluster that the environment names.
func defaultAddress() string { return cmp.Or(os.Getenv("RAY_ADDRESS"), "auto") }

// Check implements launch.Engine.
func (e *Engine) Check(ctx context.Context, options ...launch.Option) (string, error) {
	w, err := read(launch.Job{Options: options})
	if err != nil {
		return "", err
	}
	d, err := e.driver(ctx, w.address, w.python)
	if err != nil {
		return "", err
	}
	return "Ray " + d.version, nil
}

// Submit implements launch.Engine.
func (e *Engine) Submit(ctx context.Context, j launch.Job) (string, error) {
	w, err := read(j)
	if err != nil {
		return "", err
	}
	d, err := e.driver(ctx, w.address, w.python)
	if err != nil {
		return "", err
	}
	var reply struct{ Job string }
	err = d.ask(ctx, request{"verb": "submit", "name": j.Name, "program": j.Program, "args": arguments(j), "env": inherited(), "folder": j.Dir, "run": j.Run, "ask": w.ask}, &reply)
	return reply.Job + "@" + w.address, err
}

// inherited returns the variables that a job has from the command that submits it: those of this
// program's, of stores that checkpoints may be in, and where Python finds environments.
func inherited() map[string]string {
	out := map[string]string{}
	for _, x := range os.Environ() {
		key, value, _ := strings.Cut(x, "=")
		if strings.HasPrefix(key, "WEFT_") && !strings.HasPrefix(key, "WEFT_RAY_") || strings.HasPrefix(key, "AWS_") || key == "PYTHONPATH" {
			out[key] = value
		}
	}
	return out
}

// of returns the driver for a job, and Ray's own name of the job.
func (e *Engine) of(ctx context.Context, id string) (*driver, string, error) {
	name, address, ok := strings.Cut(id, "@")
	if !ok {
		return nil, "", fmt.Errorf("%q is no job of Ray, as NAME@ADDRESS", id)
	}
	d, err := e.driver(ctx, address, "")
	return d, name, err
}

// Look implements launch.Engine.
func (e *Engine) Look(ctx context.Context, id string) (s launch.Standing, err error) {
	d, name, err := e.of(ctx, id)
	if err != nil {
		return s, err
	}
	var reply struct{ Phase, Text, Log string }
	if err := d.ask(ctx, request{"verb": "look", "job": name}, &reply); err != nil {
		return s, err
	}
	phase, ok := map[string]launch.Phase{"waiting": launch.Waiting, "running": launch.Running, "over": launch.Over}[reply.Phase]
	if !ok {
		return s, errors.New("the driver of Ray does not say where the job stands")
	}
	return launch.Standing{Phase: phase, Text: reply.Text, Log: reply.Log}, nil
}

// Interrupt implements launch.Engine.
func (e *Engine) Interrupt(ctx context.Context, id string) error {
	d, name, err := e.of(ctx, id)
	if err != nil {
		return err
	}
	return d.ask(ctx, request{"verb": "interrupt", "job": name}, nil)
}

package ray

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/launch"
)

// ask says what a job needs of a cluster.
type ask struct {
	Workers  int                `json:"workers"`
	More     int                `json:"more"`   // workers that are added as nodes come
	Bundle   map[string]float64 `json:"bundle"` // resources of a worker, in Ray's names
	Strategy string             `json:"strategy"`
	Wait     float64            `json:"wait"` // seconds for nodes that are not there yet; 0: all are
}

// wish is a job's request, read from its options.
type wish struct {
	ask
	address, python string
}

const (
	spread = "SPREAD"        // on as many nodes as there are
	apart  = "STRICT_SPREAD" // each on a node of its own
)

// read reads what a job asks for.
func read(j launch.Job) (w wish, err error) {
	w = wish{address: defaultAddress(), ask: ask{Workers: max(1, j.Nodes), Bundle: map[string]float64{"CPU": 1}, Strategy: apart}}
	if j.Workers > 0 {
		w.Workers = j.Workers
	}
	w.More = max(0, j.Most-w.Workers)
	if w.Workers != max(1, j.Nodes) {
		w.Strategy = spread
	}
	for _, o := range j.Options {
		if err := w.option(o); err != nil {
			return w, err
		}
	}
	return w, nil
}

// option takes an option of the user's.
func (w *wish) option(o launch.Option) (err error) {
	switch o.Key {
	case "address":
		w.address = cmp.Or(o.Value, w.address)
	case "python":
		w.python = o.Value
	case "cpus":
		err = w.resource("CPU", o.Value, 1)
	case "gpus":
		err = w.resource("GPU", o.Value, 1)
	case "memory":
		err = w.resource("memory", o.Value, 1<<30)
	case "resource":
		name, amount, _ := strings.Cut(o.Value, ":")
		err = w.resource(name, cmp.Or(amount, "1"), 1)
	case "strategy":
		if w.Strategy = strings.ToUpper(o.Value); w.Strategy != spread && w.Strategy != apart && w.Strategy != "PACK" {
			err = fmt.Errorf("%q is none of PACK, SPREAD, STRICT_SPREAD", o.Value)
		}
	case "wait":
		var d time.Duration
		if d, err = time.ParseDuration(o.Value); err == nil && d <= 0 {
			err = fmt.Errorf("%v is no time to wait", d)
		}
		w.Wait = d.Seconds()
	default:
		return fmt.Errorf("--ray %s: there is no such option: it is one of address, python, cpus, gpus, memory, resource, strategy, wait", o.Key)
	}
	if err != nil {
		return fmt.Errorf("--ray %s: %w", o.Key, err)
	}
	return nil
}

// resource sets how much a worker needs of a resource, in a unit of so many of Ray's.
func (w *wish) resource(name, amount string, unit float64) error {
	x, err := strconv.ParseFloat(amount, 64)
	if err != nil || !(x > 0) || name == "" {
		return fmt.Errorf("%q is no amount above 0", amount)
	}
	w.Bundle[name] = x * unit
	return nil
}

// arguments returns the arguments of a job's leading command. Ray does not hand a job its machines
// as other engines do: the command asks for them again.
func arguments(j launch.Job) []string {
	out := append([]string{}, j.Args...)
	if j.Nodes > 0 {
		out = append(out, "--nodes", strconv.Itoa(j.Nodes))
	}
	for _, o := range j.Options {
		if o.Key == "address" || o.Key == "python" { // of the machine that submits
			continue
		}
		out = append(out, "--ray", strings.TrimSuffix(o.Key+"="+o.Value, "="))
	}
	return out
}

// Script implements launch.Engine: it returns a shell script for ray job submit.
func (*Engine) Script(j launch.Job) (string, error) {
	w, err := read(j)
	if err != nil {
		return "", err
	}
	bundle, err := json.Marshal(w.Bundle)
	if err != nil {
		return "", err
	}
	words := []string{"exec", launch.Quote(j.Program)}
	for _, a := range arguments(j) {
		words = append(words, launch.Quote(a))
	}
	return fmt.Sprintf(explanation, j.Name, w.Workers, bundle, w.Strategy, launch.Quote(j.Dir), strings.Join(words, " ")), nil
}

const explanation = `#!/bin/bash
# Submit it with
#
#   ray job submit --submission-id %s -- bash -c "$(cat FILE)"
#
# The command leads the run. It asks Ray for a placement group of %d bundles
# %s, %s, and runs a worker as an actor in
# each of them; the coordinator is beside the command.
cd %s
%s
`

// job returns Ray's name of the job that this process is in, and whether it is in one.
func job() (name string, ok bool) {
	if name := os.Getenv("WEFT_RAY_JOB"); name != "" {
		return name, true
	}
	var config struct {
		Metadata map[string]string `json:"metadata"`
	}
	if json.Unmarshal([]byte(os.Getenv("RAY_JOB_CONFIG_JSON_ENV_VAR")), &config) != nil {
		return "", false
	}
	name, ok = config.Metadata["job_submission_id"]
	return name, ok
}

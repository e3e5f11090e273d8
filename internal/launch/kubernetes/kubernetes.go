// Package kubernetes runs weft commands as indexed Jobs of Kubernetes, and launches clusters within
// a job. Every pod runs the same command: that of index 0 leads the run, with the coordinator and a
// worker as its children; the others join it and start a worker as it says. A pod that is lost is
// made anew by Kubernetes' Job controller, with the same index and the same name.
//
// The submitting machine speaks with a cluster through kubectl, as users of clusters do, with their
// configuration, their logins and their plugins. Kubernetes' own client library would add 20
// seconds of CPU time to a build of Weft that has nothing in its cache, and is needed by nobody who
// trains elsewhere.
package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/launch"
)

// Engine is the cluster that options and kubectl's configuration name.
type Engine struct {
	text func() string // random text; nil is rand.Text
}

var (
	_ launch.Engine  = (*Engine)(nil)
	_ launch.Distant = (*Engine)(nil)
)

// oldest is the first minor version of Kubernetes 1 that has success policies of jobs.
const oldest = 31

// Check implements launch.Engine.
func (e *Engine) Check(ctx context.Context, options ...launch.Option) (string, error) {
	w, err := read(launch.Job{Options: options})
	if err != nil {
		return "", err
	}
	var v struct {
		ServerVersion struct{ Major, Minor, GitVersion string }
	}
	if err := w.cluster.into(ctx, &v, "", "version"); err != nil {
		return "", err
	}
	s := v.ServerVersion
	if n, err := strconv.Atoi(strings.TrimRight(s.Minor, "+")); err == nil && s.Major == "1" && n < oldest {
		return "", fmt.Errorf("the cluster has Kubernetes %s: jobs of Weft need 1.%d or newer", s.GitVersion, oldest)
	}
	return "Kubernetes " + strings.TrimPrefix(s.GitVersion, "v"), nil
}

// id is the name of a job: namespace/name, and @context if kubectl has contexts.
type id struct {
	cluster
	name string
}

func (i id) String() string {
	out := i.namespace + "/" + i.name
	if i.context != "" {
		out += "@" + i.context
	}
	return out
}

func parseID(text string) (i id, err error) {
	rest, context, _ := strings.Cut(text, "@")
	namespace, name, ok := strings.Cut(rest, "/")
	if !ok || name == "" {
		return i, fmt.Errorf("%q is no job of Kubernetes, as NAMESPACE/NAME", text)
	}
	return id{cluster{context, namespace}, name}, nil
}

// Submit implements launch.Engine. The job is made first, suspended, so that all else belongs to
// it and is removed with it.
func (e *Engine) Submit(ctx context.Context, j launch.Job) (text string, err error) {
	w, err := read(j)
	if err == nil {
		err = w.complete()
	}
	if err == nil {
		err = e.fits(ctx, j, w)
	}
	if err != nil {
		return "", err
	}
	if w.context == "" {
		if out, err := w.cluster.call(ctx, "", "config", "current-context"); err == nil { // in a pod there is none
			w.context = strings.TrimSpace(string(out))
		}
	}
	m := build(j, w, e.fresh(5), e.fresh(26))
	m.job["spec"].(object)["suspend"] = true
	var made struct {
		Metadata struct{ Namespace, UID string }
	}
	out, err := w.create(ctx, m.job)
	if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if err != nil {
		return "", err
	}
	w.namespace = made.Metadata.Namespace
	at := id{w.cluster, m.name}
	defer func() {
		if err != nil {
			err = errors.Join(err, at.remove(context.WithoutCancel(ctx)))
		}
	}()
	if _, err := w.create(ctx, m.owned(made.Metadata.UID)...); err != nil {
		return "", err
	}
	if _, err := w.call(ctx, "", "patch", "job", m.name, "--type=merge", "--patch", `{"spec":{"suspend":false}}`); err != nil {
		return "", err
	}
	return at.String(), at.begun(ctx)
}

// create has kubectl make objects, and returns them as JSON, one after the other.
func (c cluster) create(ctx context.Context, all ...object) ([]byte, error) {
	text, err := print(all...)
	if err != nil {
		return nil, err
	}
	return c.call(ctx, text, "create", "--filename=-", "--output=json")
}

// remove removes a job, with all that it owns, and lets its pods end in their time.
func (i id) remove(ctx context.Context) error {
	_, err := i.call(ctx, "", "delete", "job", i.name, "--cascade=foreground", "--wait=false", "--ignore-not-found")
	return err
}

// settling bounds how long Submit looks for what keeps a job from beginning.
const settling = 15 * time.Second

// begun blocks until the leading pod has begun, or waits for its turn. Its error says what keeps
// the job from ever beginning.
func (i id) begun(ctx context.Context) error {
	for until := time.Now().Add(settling); time.Now().Before(until); {
		s, err := i.standing(ctx)
		if err != nil {
			return err
		}
		if s.hopeless != "" {
			return errors.New(s.hopeless)
		}
		if s.settled {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Look implements launch.Engine.
func (e *Engine) Look(ctx context.Context, job string) (launch.Standing, error) {
	i, err := parseID(job)
	if err != nil {
		return launch.Standing{}, err
	}
	s, err := i.standing(ctx)
	return s.Standing, err
}

// Interrupt implements launch.Engine. All pods are told to end, and the leading one saves the run
// first.
func (e *Engine) Interrupt(ctx context.Context, job string) error {
	i, err := parseID(job)
	if err != nil {
		return err
	}
	return i.remove(ctx)
}

// leads selects the leading pod of a job.
func (i id) leads() string {
	return fmt.Sprintf("--selector=batch.kubernetes.io/job-name=%s,batch.kubernetes.io/job-completion-index=0", i.name)
}

// ConfigFile implements launch.Distant.
func (e *Engine) ConfigFile() string { return configFolder + "/" + configFile }

// Output implements launch.Distant.
func (e *Engine) Output(ctx context.Context, job string, follow bool, line func(string)) error {
	i, err := parseID(job)
	if err != nil {
		return err
	}
	for seen := ""; ; {
		var pods podList
		if err := i.into(ctx, &pods, "", "get", "pods", i.leads()); err != nil && !follow {
			return err
		}
		p := pods.newest()
		if p != nil && p.begun() && p.Metadata.UID != seen {
			seen = p.Metadata.UID
			err := i.lines(ctx, line, "logs", p.Metadata.Name, fmt.Sprintf("--follow=%t", follow))
			if !follow {
				return err
			}
		}
		if s, err := i.standing(ctx); !follow || err == nil && s.Phase == launch.Over {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// nodeList holds the fields of nodes that are read.
type nodeList struct {
	Items []struct {
		Metadata struct{ Labels map[string]string }
		Status   struct{ Allocatable map[string]json.RawMessage }
	}
}

// fits refuses a job that no node of the cluster has room for, if this user may see the nodes. An
// autoscaler may add some: then it is waited for.
func (e *Engine) fits(ctx context.Context, j launch.Job, w wish) error {
	if w.wait {
		return nil
	}
	var nodes nodeList
	if err := w.cluster.into(ctx, &nodes, "", "get", "nodes"); err != nil || len(nodes.Items) == 0 {
		return nil // it may not look: the scheduler will say
	}
	if err := nodes.fit(j, w); err != nil {
		return fmt.Errorf("%w; kubectl describe nodes shows what there is, and --kubernetes wait lets the job wait for nodes that an autoscaler adds", err)
	}
	return nil
}

// fit reports what a job asks for and the nodes do not have, whatever runs on them now.
func (l nodeList) fit(j launch.Job, w wish) error {
	cpus, _ := strconv.ParseFloat(w.cpus, 64) // it was read before
	needs := map[string]float64{"cpu": cpus, "memory": w.memory * (1 << 30), w.gpu: float64(w.gpus)}
	alike, room, gpus := 0, 0, 0.0
	for _, n := range l.Items {
		matches, fits := true, true
		for label, value := range w.selector {
			matches = matches && n.Metadata.Labels[label] == value
		}
		for name, amount := range needs {
			fits = fits && quantity(n.Status.Allocatable[name]) >= amount
		}
		if matches {
			alike++
			gpus = max(gpus, quantity(n.Status.Allocatable[w.gpu]))
		}
		if matches && fits {
			room++
		}
	}
	n, _, apart := pods(j)
	switch {
	case alike == 0:
		return errors.New("the cluster has no node with the labels of --kubernetes node-selector")
	case float64(w.gpus) > gpus:
		return fmt.Errorf("a pod asks for %d of %s, and no node of the cluster has more than %.0f: ask for fewer with --kubernetes gpus=N", w.gpus, w.gpu, gpus)
	case room == 0:
		return fmt.Errorf("a pod asks for %s CPUs and %g GiB, and no node of the cluster has both: ask for less with --kubernetes cpus=N and memory=N", w.cpus, w.memory)
	case apart && room < n:
		return fmt.Errorf("%d nodes are asked for, and the cluster has %d that a pod fits on: ask for fewer with --nodes, or for pods that share nodes with --workers N", n, room)
	}
	return nil
}

// quantity returns an amount as Kubernetes writes it, such as 1500m or 16Gi; 0 if there is none.
func quantity(raw json.RawMessage) float64 {
	text := strings.Trim(string(raw), `"`)
	units := []string{"m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	sizes := []float64{1e-3, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18, 1 << 10, 1 << 20, 1 << 30, 1 << 40, 1 << 50, 1 << 60}
	unit := 1.0
	for i := len(units) - 1; i >= 0; i-- { // Mi before M
		if strings.HasSuffix(text, units[i]) {
			text, unit = strings.TrimSuffix(text, units[i]), sizes[i]
			break
		}
	}
	x, _ := strconv.ParseFloat(text, 64) // another notation is unknown
	return x * unit
}

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"crypto/tls"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/run/certs"
)

// Variables of the containers of a job.
const (
	podIP        = "WEFT_KUBERNETES_IP"
	nodeName     = "WEFT_KUBERNETES_NODE"
	jobName      = "WEFT_KUBERNETES_JOB"
	jobNamespace = "WEFT_KUBERNETES_NAMESPACE"
	jobContext   = "WEFT_KUBERNETES_CONTEXT" // of the machine that submitted it
	jobSize      = "WEFT_KUBERNETES_PODS"
	jobLeast     = "WEFT_KUBERNETES_LEAST" // pods that the run begins with
	jobRun       = "WEFT_KUBERNETES_RUN"
	podCores     = "WEFT_KUBERNETES_CORES"
	podMemory    = "WEFT_KUBERNETES_MEMORY"
	podIndex     = "JOB_COMPLETION_INDEX" // set by Kubernetes
)

// place says which pod of which job this process is in.
type place struct {
	id
	job, ip, node, run string
	index, pods, cores int
	least              int // pods that the run begins with
	memory             float64
}

// here reads the environment of a pod; ok is false outside of a job.
func here(get func(string) string) (p place, ok bool, err error) {
	if p.job = get(jobName); p.job == "" {
		return p, false, nil
	}
	p.id = id{cluster{get(jobContext), get(jobNamespace)}, p.job}
	p.ip, p.node, p.run = get(podIP), get(nodeName), get(jobRun)
	var errs []error
	whole := func(name string) int {
		n, err := strconv.Atoi(get(name))
		if err != nil || n < 0 {
			errs = append(errs, fmt.Errorf("%s=%q is no number: submit the manifests as weft train --on kubernetes --dry-run prints them", name, get(name)))
		}
		return n
	}
	p.index, p.pods, p.least, p.cores = whole(podIndex), whole(jobSize), whole(jobLeast), whole(podCores)
	p.memory, _ = strconv.ParseFloat(get(podMemory), 64) // not set: unknown
	if net.ParseIP(p.ip) == nil {
		errs = append(errs, fmt.Errorf("%s=%q is no address", podIP, p.ip))
	}
	if p.index >= p.pods && errs == nil {
		errs = append(errs, fmt.Errorf("pod %d is none of the %d pods of the job", p.index, p.pods))
	}
	return p, true, errors.Join(errs...)
}

// Allocation implements launch.Engine. In the leading pod it blocks until as many of the others
// have joined as the run begins with.
func (e *Engine) Allocation(ctx context.Context, _ launch.Job) (*launch.Allocation, error) {
	p, ok, err := here(os.Getenv)
	if !ok || err != nil {
		return nil, err
	}
	secret, err := os.ReadFile(filepath.Join(secretFolder, "secret"))
	if err != nil {
		return nil, err
	}
	config, err := certs.OfSecret(strings.TrimSpace(string(secret)), p.job, host(p.job, 0))
	if err != nil {
		return nil, err
	}
	var working atomic.Bool
	if err := p.healthy(&working); err != nil {
		return nil, err
	}
	if p.index > 0 {
		a := &agent{hello: hello{p.job, p.index, p.node}, ip: p.ip, join: net.JoinHostPort(host(p.job, 0), strconv.Itoa(hubPort)), tls: config, now: working.Store}
		return &launch.Allocation{Job: p.id.String(), Serve: a.serve}, nil
	}
	working.Store(true)
	restarts, err := p.begin()
	if err != nil {
		return nil, err
	}
	h := newHub(p.job, p.pods)
	l, err := tls.Listen("tcp", p.on(hubPort), config)
	if err != nil {
		return nil, err
	}
	go h.serve(l) // to the end of the process
	if err := h.gathered(ctx, p.least-1); err != nil {
		return nil, err
	}
	return p.allocation(h, restarts), nil
}

// on returns the address of a port of this pod.
func (p place) on(port int) string { return net.JoinHostPort(p.ip, strconv.Itoa(port)) }

// allocation returns what the leading pod has.
func (p place) allocation(h *hub, restarts int) *launch.Allocation {
	a := &launch.Allocation{
		Job: p.id.String(), Host: p.ip, Restarts: restarts, Least: p.least, Drains: h.drains,
		Certs: filepath.Join(os.TempDir(), "weft-certs"),
		Args:  []string{"--metrics", net.JoinHostPort(podAddress, strconv.Itoa(coordinatorPort))},
	}
	a.Launcher = launcher{hub: h, ip: p.ip, certs: a.Certs}
	for i := range h.seats {
		name := host(p.job, i)
		a.Slots = append(a.Slots, launch.Slot{Node: name, Cores: p.cores, Memory: p.memory, Args: []string{
			"--listen", net.JoinHostPort(podAddress, strconv.Itoa(dataPort)), "--advertise", net.JoinHostPort(name, strconv.Itoa(dataPort)),
			"--metrics", net.JoinHostPort(podAddress, strconv.Itoa(workerPort)),
		}})
	}
	return a
}

// begin returns how often the leading command of this job was started before, which the run's
// folder tells. Kubernetes does not count pods that it has made anew.
func (p place) begin() (before int, err error) {
	if err := os.MkdirAll(filepath.Join(p.run, "job"), 0o755); err != nil {
		return 0, fmt.Errorf("the folder of the run: %w; the claim must be writable for the user of the pods, which --kubernetes user=UID:GID sets", err)
	}
	path := filepath.Join(p.run, "job", "starts")
	text, _ := os.ReadFile(path) // not there: the first start
	if job, n, ok := strings.Cut(strings.TrimSpace(string(text)), " "); ok && job == p.job {
		before, _ = strconv.Atoi(n) // it was written below
	}
	return before, os.WriteFile(path, fmt.Appendf(nil, "%s %d\n", p.job, before+1), 0o644)
}

// healthy answers the probes of a pod, to the end of the process. The process of a pod is well as
// long as it answers: it starts workers again by itself. A pod is ready when its worker is.
func (p place) healthy(working *atomic.Bool) error {
	l, err := net.Listen("tcp", p.on(healthPort))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	worker := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: p.on(workerPort)})
	worker.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) {
		http.Error(w, "no worker runs", http.StatusServiceUnavailable)
	}
	of := func(w http.ResponseWriter, r *http.Request) {
		if !working.Load() {
			http.Error(w, "no worker runs", http.StatusServiceUnavailable)
			return
		}
		worker.ServeHTTP(w, r)
	}
	mux.HandleFunc("GET /readyz", of)
	mux.HandleFunc("GET /metrics", of)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }() // to the end of the process
	return nil
}

// Package observe serves the metrics of a cluster's processes in Prometheus' format, and their
// health and readiness. It reports the present only; metrics of a run end with it.
package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weft-rl/weft/internal/web"
)

// Process names the sources of a process's metrics, health and readiness.
type Process struct {
	Metrics prometheus.Collector
	Well    func() error                // why it should be started again; nil if it is well
	Ready   func(context.Context) error // why it is of no use now; nil if it is
}

// Serve answers at /metrics, /healthz and /readyz until ctx is done. Whoever reaches the address
// may ask; nothing can be changed there.
func Serve(ctx context.Context, l net.Listener, p Process) error {
	h, err := p.Handler()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return web.Serve(ctx, l, h, 30*time.Second, time.Second)
}

// Handler returns what answers at these paths. The registry is its own: another library's metrics
// do not appear among these.
func (p Process) Handler() (http.Handler, error) {
	r := prometheus.NewRegistry()
	if err := errors.Join(
		r.Register(p.Metrics), r.Register(collectors.NewGoCollector()),
		r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, p.Well()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, q *http.Request) {
		ctx, cancel := context.WithTimeout(q.Context(), 5*time.Second)
		defer cancel()
		answer(w, p.Ready(ctx))
	})
	return mux, nil
}

// answer says ok, or what is wrong.
func answer(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, err)
		return
	}
	fmt.Fprintln(w, "ok")
}

// described returns a metric's name, help and labels.
func described(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("weft_"+name, help, labels, nil)
}

// sender sends metrics to who collects them.
type sender chan<- prometheus.Metric

func (s sender) gauge(d *prometheus.Desc, x float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, labels...)
}

func (s sender) counter(d *prometheus.Desc, n int64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func (s sender) is(d *prometheus.Desc, yes bool, labels ...string) {
	x := 0.
	if yes {
		x = 1
	}
	s.gauge(d, x, labels...)
}

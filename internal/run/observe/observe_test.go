package observe_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/observe"
	"github.com/weft-rl/weft/internal/run/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves a process, and returns what asks it.
func serve(t *testing.T, p observe.Process) (get func(path string) (code int, body string)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- observe.Serve(ctx, l, p) }()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return func(path string) (int, string) {
		t.Helper()
		r, err := client.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
}

// TestServe answers with what the process says of itself, and with its own metrics alone.
func TestServe(t *testing.T) {
	x := prometheus.NewGauge(prometheus.GaugeOpts{Name: "somebody_elses"})
	prometheus.MustRegister(x)
	defer prometheus.Unregister(x)
	get := serve(t, observe.Process{
		Metrics: prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "mine"}, func() float64 { return 7 }),
		Well:    func() error { return nil },
		Ready:   func(context.Context) error { return errors.New("it has just begun") },
	})
	if code, text := get("/healthz"); code != 200 || text != "ok\n" {
		t.Errorf("%d %q", code, text)
	}
	if code, text := get("/readyz"); code != 503 || text != "it has just begun\n" {
		t.Errorf("%d %q", code, text)
	}
	code, text := get("/metrics")
	if code != 200 || !strings.Contains(text, "\nmine 7\n") || !strings.Contains(text, "go_goroutines") || strings.Contains(text, "somebody_elses") {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := get("/elsewhere"); code != 404 {
		t.Errorf("%d", code)
	}
}

// TestIdle shows processes that have not begun: they are well, and not ready.
func TestIdle(t *testing.T) {
	for name, c := range map[string]struct {
		process     observe.Process
		want, state string
	}{
		"coordinator": {observe.Coordinator(&coordinator.Probe{}), "weft_coordinator_leader 0", "it has just started"},
		"worker":      {observe.Worker(&worker.Probe{}), "weft_worker_joined 0", "the worker has not joined a coordinator"},
	} {
		t.Run(name, func(t *testing.T) {
			get := serve(t, c.process)
			if code, text := get("/metrics"); code != 200 || !strings.Contains(text, c.want) {
				t.Errorf("%d %s", code, text)
			}
			if code, text := get("/readyz"); code != 503 || !strings.Contains(text, c.state) {
				t.Errorf("%d %s", code, text)
			}
			if code, _ := get("/healthz"); code != 200 {
				t.Error(code)
			}
		})
	}
}

package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
)

// collector is an OTLP collector that keeps what it is sent.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		text, err := io.ReadAll(q.Body)
		var data tracepb.TracesData // has the wire format of a request
		if err == nil {
			err = proto.Unmarshal(text, &data)
		}
		if err != nil || q.URL.Path != "/v1/traces" {
			http.Error(w, fmt.Sprint(q.URL.Path, err), http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, r := range data.ResourceSpans {
			for _, s := range r.ScopeSpans {
				c.spans = append(c.spans, s.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// named returns the spans of a name.
func (c *collector) named(name string) (out []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.Name == name {
			out = append(out, s)
		}
	}
	return out
}

// TestTrace: a run's phases are spans of one trace, within the command's.
func TestTrace(t *testing.T) {
	t.Chdir(t.TempDir())
	at := newCollector(t)
	do(t, 0, tiny("--trace", at.URL, "--out", "mine", "--checkpoint-steps", "128", "--eval-every", "128")...)
	root := at.named("train")
	if len(root) != 1 || len(root[0].ParentSpanId) != 0 {
		t.Fatalf("roots: %v", root)
	}
	for name, least := range map[string]int{"prepare": 1, "compile": 1, "iteration": 4, "checkpoint": 2, "evaluation": 2} {
		found := at.named(name)
		if len(found) < least {
			t.Errorf("%d spans %s, want %d", len(found), name, least)
		}
		for _, s := range found {
			if !slices.Equal(s.TraceId, root[0].TraceId) || !slices.Equal(s.ParentSpanId, root[0].SpanId) || s.EndTimeUnixNano < s.StartTimeUnixNano {
				t.Errorf("span %v is not within %v", s, root[0])
			}
		}
	}
	do(t, 0, "resume", "mine", "--steps", "512", "--trace", at.URL)
	if resumed, load := at.named("resume"), at.named("recover"); len(resumed) != 1 || len(load) != 1 || !slices.Equal(load[0].ParentSpanId, resumed[0].SpanId) {
		t.Errorf("%v, %v", resumed, load)
	}
}

// TestTraceOfProcesses: the parts of all processes belong to the trace of the command, and the
// environment may name the collector and the parent.
func TestTraceOfProcesses(t *testing.T) {
	t.Setenv(asCommand, "1")
	t.Setenv(cli.Trains, "1")
	t.Chdir(t.TempDir())
	at := newCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", at.URL)
	t.Setenv("TRACEPARENT", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	do(t, 0, tiny("--processes", "2", "--policy", "single-learner-coarse", "--out", "mine")...)
	root, parts := at.named("train"), at.named("part")
	if len(root) != 1 || fmt.Sprintf("%x", root[0].TraceId) != "0af7651916cd43dd8448eb211c80319c" || fmt.Sprintf("%x", root[0].ParentSpanId) != "b7ad6b7169203331" {
		t.Fatalf("roots: %v", root)
	}
	if len(parts) != 2 {
		t.Fatalf("%d parts: %v", len(parts), parts)
	}
	for _, s := range parts {
		if !slices.Equal(s.TraceId, root[0].TraceId) || !slices.Equal(s.ParentSpanId, root[0].SpanId) {
			t.Errorf("span %v is not within %v", s, root[0])
		}
	}
	iterations := at.named("iteration")
	if len(iterations) < 4 {
		t.Errorf("%d iterations", len(iterations))
	}
	for _, s := range iterations {
		if !slices.ContainsFunc(parts, func(p *tracepb.Span) bool { return slices.Equal(p.SpanId, s.ParentSpanId) }) {
			t.Errorf("%v is in no part", s)
		}
	}
}

// TestMetricsOfRun: Prometheus can ask a run where it stands while it trains.
func TestMetricsOfRun(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &asking{t: t, cancel: cancel}
	var errs bytes.Buffer
	cli.Run(ctx, weft.Builtin(), tiny("--metrics", "127.0.0.1:0", "--eval-every", "64", "--steps", "1_000_000", "--json", "--out", "mine"), out, &errs)
	for _, want := range []string{`weft_run_steps{run="mine"} `, `weft_run_budget_steps{run="mine"} 1e+06`, `weft_run_evaluation_return{run="mine"} `, `weft_run_metric{metric="loss/policy",run="mine"} `} {
		contains(t, out.metrics, want)
	}
	contains(t, do(t, 2, tiny("--metrics", ":0", "--seeds", "2")...).errors, "--metrics: it is for a run in this process")
}

// asking is an output that asks for the metrics of the run it is told of, after an evaluation and
// an iteration, and then ends the run.
type asking struct {
	t       *testing.T
	cancel  func()
	address string
	seen    map[string]int
	metrics string
}

func (a *asking) Write(p []byte) (int, error) {
	var e struct{ Event, Text string }
	if err := json.Unmarshal(p, &e); err != nil {
		a.t.Error(err)
	}
	if _, rest, ok := strings.Cut(e.Text, "http://"); ok {
		a.address, _, _ = strings.Cut(rest, "/metrics")
	}
	if a.seen == nil {
		a.seen = map[string]int{}
	}
	if a.seen[e.Event]++; a.metrics != "" || a.seen["eval"] == 0 || e.Event != "iteration" {
		return len(p), nil
	}
	a.cancel()
	answer, err := http.Get("http://" + a.address + "/metrics")
	if err != nil {
		a.t.Error(err)
		return len(p), nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Error(err)
	}
	a.metrics = string(text)
	http.DefaultClient.CloseIdleConnections()
	return len(p), nil
}

// TestTraceLost: a collector that is not there costs a sentence, and an address that is none is
// refused.
func TestTraceLost(t *testing.T) {
	t.Chdir(t.TempDir())
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	t.Cleanup(at.Close)
	contains(t, do(t, 0, tiny("--trace", at.URL, "--out", "mine")...).errors, "weft: traces are lost: ", "the run itself is well")
	contains(t, do(t, 2, tiny("--trace", "localhost:4318")...).errors, `--trace: "localhost:4318" is not the address of an OTLP collector`)
}

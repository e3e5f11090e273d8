package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Serve compares servers of one policy. The command line runs it.
var Serve = Benchmark{
	Name:  "serve",
	Doc:   "a policy of 2x64 units asked over the network: weft serve by HTTP and by gRPC beside onnxruntime behind FastAPI",
	names: []string{"weft", "weft-grpc", "fastapi"},
	cases: serveCases,
}

// Traffic is how requests are sent to a server: so many a second, whether or not answers come, or,
// if Rate is 0, by so many clients of which each waits for its answer.
type Traffic struct {
	Rate    float64 `json:"rate,omitempty"` // requests a second
	Clients int     `json:"clients"`        // connections
}

func serveCases(quick bool) (out []Case) {
	add := func(id, title string, t Traffic) {
		out = append(out, Case{ID: id, Title: title, Unit: "requests/s", Spec: t})
	}
	add("rate=1000", "1,000 requests a second over 64 connections", Traffic{Rate: 1000, Clients: 64})
	add("clients=1", "one client after another answer", Traffic{Clients: 1})
	add("clients=32", "32 clients at once", Traffic{Clients: 32})
	if quick {
		return out[:2]
	}
	return out
}

// Answers sums up how requests were answered.
type Answers struct {
	Requests int     `json:"requests"`
	Failed   int     `json:"failed"`
	Rate     float64 `json:"rate"` // answers a second
	P50      float64 `json:"p50"`  // seconds until an answer
	P99      float64 `json:"p99"`
	Max      float64 `json:"max"`
}

// Send sends requests for about d. Ask sends one and returns when it is answered. At a fixed rate
// the time of an answer counts from when its request was due, so that a server that stands still
// pays for all that would have come meanwhile.
func (t Traffic) Send(ctx context.Context, d time.Duration, ask func(ctx context.Context, client int) error) Answers {
	var mu sync.Mutex
	var took []float64
	failed := 0
	one := func(client int, due time.Time) {
		err := ask(ctx, client)
		passed := time.Since(due).Seconds()
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed++
			return
		}
		took = append(took, passed)
	}
	var clients sync.WaitGroup
	begun := time.Now()
	due := make(chan time.Time, cmp.Or(int(t.Rate*d.Seconds()), 1))
	for i := range t.Clients {
		clients.Go(func() {
			if t.Rate > 0 {
				for at := range due {
					one(i, at)
				}
				return
			}
			for ctx.Err() == nil && time.Since(begun) < d {
				one(i, time.Now())
			}
		})
	}
	if t.Rate > 0 {
		t.schedule(ctx, begun, d, due)
	}
	close(due)
	clients.Wait()
	return sum(took, failed, time.Since(begun))
}

// schedule sends when requests are due, at their times.
func (t Traffic) schedule(ctx context.Context, begun time.Time, d time.Duration, due chan<- time.Time) {
	n := int(t.Rate * d.Seconds())
	for i := range n {
		at := begun.Add(time.Duration(float64(i) / t.Rate * float64(time.Second)))
		select {
		case <-time.After(time.Until(at)):
			due <- at
		case <-ctx.Done():
			return
		}
	}
}

// sum returns the percentiles of times.
func sum(took []float64, failed int, passed time.Duration) Answers {
	slices.Sort(took)
	at := func(p float64) float64 {
		if len(took) == 0 {
			return math.NaN()
		}
		return took[min(len(took)-1, int(math.Ceil(p*float64(len(took))))-1)]
	}
	return Answers{
		Requests: len(took) + failed, Failed: failed, Rate: float64(len(took)) / max(1e-9, passed.Seconds()),
		P50: at(.5), P99: at(.99), Max: at(1),
	}
}

// PeerServer returns the Python program that serves an ONNX model by FastAPI, for an interpreter:
// python -c PROGRAM MODEL PORT.
func PeerServer() (string, error) {
	text, err := peerScripts.ReadFile("peers/fastapi_serve.py")
	if err != nil {
		return "", fmt.Errorf("the peer's program: %w", err)
	}
	return string(text), nil
}

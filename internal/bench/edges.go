package bench

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Edges measures the transports of edges, and bare gRPC beside them.
var Edges = Benchmark{
	Name:       "edges",
	Doc:        "an edge within a process, through shared memory, over a Unix socket, TCP and TLS: how long a round trip takes, and how much it carries; bare gRPC beside it",
	names:      []string{"weft", "grpc"},
	cases:      edgeCases,
	contenders: edgeContenders,
	heading:    "How fast an edge is, as a part of bare gRPC on the same way:",
	summary:    besideBare,
	turn:       turn{time.Second, 200 * time.Millisecond},
}

// EdgeSpec describes a message and how often it is sent.
type EdgeSpec struct {
	Bytes int `json:"bytes"`
	// Burst is the number of messages sent before the last is answered; 1 is a round trip with an
	// answer of the same size.
	Burst int `json:"burst"`
}

// edgeQueue is the least number of messages that may wait, edgeWindow the least number of bytes:
// with a shorter queue the benchmark would measure how long the sender is blocked. Bare gRPC may
// have more in flight.
const (
	edgeQueue  = 8
	edgeWindow = 1 << 20
)

func edgeCases(quick bool) (out []Case) {
	sizes := []int{1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}
	if quick {
		sizes = []int{1 << 10, 64 << 10, 1 << 20}
	}
	for _, n := range sizes {
		out = append(out, Case{
			ID: fmt.Sprintf("trip=%dK", n>>10), Title: fmt.Sprintf("a round trip of %d KiB", n>>10),
			Work: 1, Unit: "trips/s", Spec: EdgeSpec{n, 1},
		})
	}
	for _, n := range sizes {
		burst := max(16, 4<<20/n)
		out = append(out, Case{
			ID: fmt.Sprintf("stream=%dK", n>>10), Title: fmt.Sprintf("messages of %d KiB in one direction", n>>10),
			Work: float64(n*burst) / 1e6, Unit: "MB/s", Spec: EdgeSpec{n, burst},
		})
	}
	return out
}

// edgeWays lists the transports.
var edgeWays = []string{"channel", "memory", "unix", "tcp", "tls"}

// bareWay returns the transport of bare gRPC to compare with a way: for shared memory the fastest
// one between processes of a host, and none within a process.
func bareWay(way string) string {
	switch way {
	case "channel":
		return ""
	case "memory":
		return "unix"
	}
	return way
}

func edgeContenders(_ context.Context, o Options) (f field, err error) {
	add := func(name, way string, make func(way string, s EdgeSpec) (program, error)) {
		if o.wants(name) {
			f.present = append(f.present, &inProcess{label: Label{Name: name, Path: way}, make: func(_ context.Context, c Case) (program, error) {
				return make(way, c.Spec.(EdgeSpec))
			}})
		}
	}
	for _, way := range edgeWays {
		add("weft", way, openEdge)
		if way == bareWay(way) {
			add("grpc", way, openBare)
		}
	}
	f.close = func() error { return nil }
	return f, nil
}

// besideBare compares every way's edge with bare gRPC. It compares the fastest rounds, because
// other processes on the machine can only slow a round down.
func besideBare(results []Result) string {
	var out []string
	for _, ours := range results {
		for _, bare := range results {
			if ours.Name == "weft" && bare.Name == "grpc" && bareWay(ours.Path) == bare.Path && !failed(ours) && !failed(bare) {
				out = append(out, fmt.Sprintf("%s %sx", ours.Path, digits(fastest(bare)/fastest(ours))))
			}
		}
	}
	return strings.Join(out, ", ")
}

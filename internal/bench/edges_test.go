package bench

import (
	"strings"
	"testing"
)

// TestEdges: every way carries, there and back and in bursts.
func TestEdges(t *testing.T) {
	for name, open := range map[string]func(string, EdgeSpec) (program, error){"weft": openEdge, "grpc": openBare} {
		for _, way := range edgeWays {
			if name == "grpc" && way == "channel" {
				continue
			}
			for _, s := range []EdgeSpec{{1 << 10, 1}, {300 << 10, 20}} {
				p, err := open(way, s)
				if err != nil {
					t.Fatal(err)
				}
				for range 3 {
					if err := p.Run(); err != nil {
						t.Errorf("%s over %s: %v", name, way, err)
					}
				}
				p.Close()
			}
		}
	}
}

func TestBesideBare(t *testing.T) {
	of := func(name, way string, seconds ...float64) Result {
		return Result{Label: Label{Name: name, Path: way}, Seconds: seconds}
	}
	got := besideBare([]Result{of("weft", "channel", 1), of("weft", "tcp", 4, 5), of("grpc", "tcp", 9, 2), of("weft", "tls"), of("grpc", "tls", 1)})
	if !strings.Contains(got, "tcp 0.5") || strings.Contains(got, "tls") || strings.Contains(got, "channel") {
		t.Error(got)
	}
}

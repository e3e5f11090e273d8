package graph_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/draw/graph"
)

func TestDOT(t *testing.T) {
	var b bytes.Buffer
	if err := graph.DOT(&b, small(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"digraph", "cluster_1", "n1 -> n2", "style=dashed", "Reward iteration", "}\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}

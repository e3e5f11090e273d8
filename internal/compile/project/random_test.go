package project

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

var seed = flag.Uint64("seed", 1, "of the random groupings and loops")

// random groups fragments at random.
func random(g *fdg.Graph) []plan.Grouping {
	return shuffled(rand.New(rand.NewPCG(*seed, uint64(len(g.Nodes)))), g)
}

// shuffled groups fragments at random. Of the groups the one with the environments
// may be replicated.
func shuffled(r *rand.Rand, g *fdg.Graph) (out []plan.Grouping) {
	for i := range 4 {
		gr := plan.Grouping{Name: fmt.Sprint("r", i)}
		of := map[int][]string{}
		for _, f := range g.Fragments {
			n := r.IntN(3)
			of[n] = append(of[n], f.Name)
		}
		for n := range 3 {
			if len(of[n]) == 0 {
				continue
			}
			over := fdg.None
			if slices.ContainsFunc(of[n], func(name string) bool { return g.Fragment(name).Group == "environment" }) && r.IntN(3) > 0 {
				over = fdg.Environments
			}
			gr.Groups = append(gr.Groups, plan.Group{Name: fmt.Sprint("g", n), Fragments: of[n], Over: over})
		}
		out = append(out, gr)
	}
	return out
}

// TestRandom: whatever groups fragments are in, programs meet and do what the
// plain loop does.
func TestRandom(t *testing.T) {
	results, err := Package(context.Background(), ".", random, loops[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	made, refused := 0, 0
	summed := map[string]bool{} // where replicas have parts of a gradient
	for _, r := range results {
		for _, x := range r.Refused {
			refused++
			t.Logf("%s: %v", label(r), x.Err())
		}
		for name, text := range r.Files {
			if strings.HasSuffix(name, ".go") && name != "gen_weft.go" {
				made++
				meets(t, label(r)+"/"+name, text)
				summed[label(r)+name] = strings.Contains(string(text), "edge.AllReduce(") || strings.Contains(string(text), "edge.Reduce(")
			}
		}
	}
	if made < 3*refused {
		t.Errorf("%d groupings were taken, %d refused", made, refused)
	}
	algorithms := slices.DeleteFunc(slices.Clone(generated(t)), func(r Result) bool { return strings.Contains(r.Package, "/testdata/") })
	var names []string
	for _, r := range results {
		names = append(names, label(r))
	}
	for name, list := range ran(t, overlaid(t, append(algorithms, results...), nil), names...) {
		for _, o := range list[1:] {
			if _, no := unlowered[name]; o.Err == "nothing was generated" || no && o.Grouping == Lowered {
				continue
			}
			if why := differs(list[0], o, !summed[name+"gen_"+o.Grouping+".go"]); why != "" {
				t.Errorf("seed %d: %s under %s with %d replicas: %s", *seed, name, o.Grouping, o.Replicas, why)
			}
		}
	}
}

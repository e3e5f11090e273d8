package analyze

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
)

// record is a line that package trace writes.
type record struct {
	Ran  []string
	Uses []struct{ From, To, Kind string }
}

// TestOracle runs every accepted loop as plain Go and records which operation
// really used what which other one made. The graph must have every dependence
// that was seen. Those of its dependences that no run showed have a reason, and those
// of fixtures are listed in golden files, so that a graph which joined everything to
// everything would not pass.
func TestOracle(t *testing.T) {
	seen := traced(t)
	for _, a := range open(t, loops()...) {
		t.Run(a.name(), func(t *testing.T) {
			g := a.graph(t, nil)
			s := gather(t, g, seen[a.name()])
			if missing := s.missing(g); len(missing) > 0 {
				t.Errorf("seen, but not in the graph:\n%s", strings.Join(missing, "\n"))
			}
			if len(s.uses) < 5 {
				t.Errorf("only %d dependences were seen", len(s.uses))
			}
			if strings.Contains(s.unseen(g), unexplained) {
				t.Errorf("the graph has dependences that no run shows:\n%s", s.unseen(g))
			}
			if fixture(a.name()) {
				golden(t, filepath.Join("testdata", "oracle", a.name()+".txt"), []byte(s.unseen(g)))
			}
			s.teeth(t, g)
		})
	}
}

// traced runs the loops with instrumented sources.
func traced(t *testing.T) map[string][]record {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, d := range loops() {
		patterns = append(patterns, "./"+d)
	}
	_, all, err := load(t.Context(), ".", nil, patterns)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := map[string]string{}
	for name, src := range instrument(t, all) {
		file := filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(file, src, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[name] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd := exec.Command(goTool, "run", "-overlay", overlay, "./testdata/src/traced")
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &problems)
	}
	seen := map[string][]record{}
	if err := json.Unmarshal(out.Bytes(), &seen); err != nil {
		t.Fatal(err)
	}
	return seen
}

// dependence is an edge between two nodes, whatever part of a result it carries.
type dependence struct {
	from, to int
	kind     fdg.Dependence
}

// sightings holds what was seen in the runs of one loop, by the graph's numbers.
type sightings struct {
	ran  map[int]bool
	uses map[dependence]bool
}

func gather(t *testing.T, g *fdg.Graph, records []record) *sightings {
	if len(records) == 0 {
		t.Fatal("the loop was not run")
	}
	at := map[string]int{}
	for _, n := range g.Nodes {
		if n.Op != "" || n.Kind == fdg.Compute {
			if old, twice := at[placeOf(n)]; twice && n.Kind != fdg.Compute {
				t.Fatalf("nodes %d and %d are at one place", old, n.ID)
			}
			at[placeOf(n)] = n.ID
		}
	}
	find := func(place string) int {
		id, ok := at[place]
		if !ok {
			t.Errorf("an operation ran at %s, where the graph has none", place)
		}
		return id
	}
	s := &sightings{ran: map[int]bool{}, uses: map[dependence]bool{}}
	for _, r := range records {
		for _, place := range r.Ran {
			s.ran[find(place)] = true
		}
		for _, u := range r.Uses {
			s.uses[dependence{find(u.From), find(u.To), fdg.Dependence(u.Kind)}] = true
		}
	}
	return s
}

func static(g *fdg.Graph) map[dependence]bool {
	out := map[dependence]bool{}
	for _, e := range g.Edges {
		out[dependence{e.From, e.To, e.Kind}] = true
	}
	return out
}

// missing returns the dependences that were seen and are not in the graph.
func (s *sightings) missing(g *fdg.Graph) (out []string) {
	have := static(g)
	for u := range s.uses {
		if !have[u] {
			out = append(out, describe(g, u))
		}
	}
	slices.Sort(out)
	return out
}

func describe(g *fdg.Graph, u dependence) string {
	return fmt.Sprintf("%s %d %s -> %d %s", u.kind, u.from, g.Nodes[u.from].Text, u.to, g.Nodes[u.to].Text)
}

// unseen lists the dependences of the graph that no run showed, with the reason.
func (s *sightings) unseen(g *fdg.Graph) string {
	var lines []string
	for u := range static(g) {
		if !s.uses[u] && u.kind != fdg.OfControl {
			lines = append(lines, fmt.Sprintf("%s: %s", describe(g, u), s.reason(g, u)))
		}
	}
	slices.Sort(lines)
	return strings.Join(append(lines, fmt.Sprintf("%d dependences were seen", len(s.uses))), "\n") + "\n"
}

const unexplained = "UNEXPLAINED"

// reason says why a dependence may be in the graph though no run showed it.
func (s *sightings) reason(g *fdg.Graph, u dependence) string {
	from, to := g.Nodes[u.from], g.Nodes[u.to]
	switch {
	case !s.ran[u.from] && from.Op != "" || !s.ran[u.to] && to.Op != "":
		return "a branch that no run took"
	case u.kind == fdg.OfValue && (from.Kind == fdg.Compute || to.Kind == fdg.Compute || from.Kind == fdg.Value || from.Kind == fdg.Read):
		return "a Go number has no identity that could be followed"
	case s.bypassed(g, u):
		return "a loop without a round, or a branch, between"
	case slices.ContainsFunc(enclosing(g, u.to), func(n int) bool { return g.Nodes[n].Text == "if it went on" }):
		return "a return before, which the analysis takes for one that may not have been"
	}
	return unexplained
}

// bypassed reports whether what was seen in the place of a dependence came from
// inside a loop or branch that holds neither of its ends, and so might have been
// passed by.
func (s *sightings) bypassed(g *fdg.Graph, u dependence) bool {
	for other := range s.uses {
		if other.to != u.to || other.kind != u.kind {
			continue
		}
		for _, around := range enclosing(g, other.from) {
			if !slices.Contains(enclosing(g, u.from), around) && !slices.Contains(enclosing(g, u.to), around) {
				return true
			}
		}
	}
	return false
}

// enclosing returns the loops and branches around a node.
func enclosing(g *fdg.Graph, n int) (out []int) {
	for up := g.Regions[g.Nodes[n].Region].Node; up >= 0; up = g.Regions[g.Nodes[up].Region].Node {
		out = append(out, up)
	}
	return out
}

// teeth: without any one of the dependences that were seen the graph is refused,
// and so is one that joins everything that ran to everything after it.
func (s *sightings) teeth(t *testing.T, g *fdg.Graph) {
	for u := range s.uses {
		less := *g
		less.Edges = slices.DeleteFunc(slices.Clone(g.Edges), func(e fdg.Edge) bool {
			return dependence{e.From, e.To, e.Kind} == u
		})
		if len(s.missing(&less)) == 0 {
			t.Errorf("nothing noticed that this was left out: %s", describe(g, u))
		}
	}
	all := *g
	all.Edges = slices.Clone(g.Edges)
	for from := range s.ran {
		for to := range s.ran {
			if from < to {
				all.Edges = append(all.Edges, fdg.Edge{Kind: fdg.OfValue, From: from, To: to})
			}
		}
	}
	if !strings.Contains(s.unseen(&all), unexplained) {
		t.Error("a graph that joins everything to everything passes")
	}
}

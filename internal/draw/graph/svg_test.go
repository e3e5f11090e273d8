package graph_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/draw/graph"
)

var update = flag.Bool("update", false, "write the golden files")

func draw(t *testing.T, g *fdg.Graph) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := graph.SVG(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at the drawing and run go test -update", file)
	}
}

// small reads a graph of five nodes in two fragments.
func small(t *testing.T) *fdg.Graph {
	t.Helper()
	text, err := os.Open("testdata/small.json")
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	g, err := fdg.ReadJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestSVG(t *testing.T) {
	got := draw(t, small(t))
	golden(t, "testdata/small.svg", got)
	inspect(t, small(t), got)
	for _, want := range []string{"Reward · iteration", "environment → learner, each iteration · rl.Tensor", "if x &gt; 0", "loop.go:3"} {
		if !bytes.Contains(got, []byte(want)) {
			t.Errorf("no %q in the drawing", want)
		}
	}
}

// TestSVGDrawings draws real loops. PPO's is the one in the documentation.
func TestSVGDrawings(t *testing.T) {
	loops := "../../compile/analyze/testdata/src/loops/"
	results, err := analyze.Analyze(context.Background(), ".", "../../../algo/ppo", loops+"world", loops+"tangled", loops+"offline")
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 4 {
		t.Fatalf("%d results, want 4", len(results))
	}
	for _, r := range results {
		name := filepath.Base(r.Package)
		t.Run(name, func(t *testing.T) {
			got := draw(t, r.Graph)
			inspect(t, r.Graph, got)
			var page bytes.Buffer
			if err := graph.Overview(&page, r.Graph); err != nil {
				t.Fatal(err)
			}
			parsed(t, page.Bytes())
			if name == "ppo" {
				golden(t, "../../../docs/fdg-ppo.svg", got)
				golden(t, "../../../docs/fragments-ppo.svg", page.Bytes())
			}
		})
	}
}

// TestSVGRandom draws what nobody would write.
func TestSVGRandom(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := random(rand.New(rand.NewPCG(seed, 1)))
			got := draw(t, g)
			inspect(t, g, got)
			if !bytes.Equal(got, draw(t, g)) {
				t.Error("two drawings of one graph differ")
			}
			var page bytes.Buffer
			if err := graph.Overview(&page, g); err != nil {
				t.Error(err)
			}
			parsed(t, page.Bytes())
		})
	}
}

// parsed reads a drawing as XML.
func parsed(t *testing.T, page []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(page)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v\n%s", err, page)
		}
	}
}

// TestOverview looks for what crosses in a small graph, and how often.
func TestOverview(t *testing.T) {
	var page bytes.Buffer
	if err := graph.Overview(&page, small(t)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">environment<", ">learner<", ">reward<", "once per iteration", "<title>environment to learner: reward"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, &page)
		}
	}
	if n := strings.Count(page.String(), "marker-end"); n != 1 {
		t.Errorf("%d arrows, want 1", n)
	}
}

func TestSVGEscapes(t *testing.T) {
	g := small(t)
	nasty := `a<b>&"c'` + "\x01\ufffe\xff" + strings.Repeat("long ", 60)
	g.Name, g.Nodes[1].Text, g.Nodes[3].Text, g.Edges[1].Part = nasty, nasty, nasty, nasty
	got := draw(t, g)
	inspect(t, g, got)
	if !bytes.Contains(got, []byte("a&lt;b&gt;&amp;&quot;c'")) {
		t.Error("the name is not there")
	}
}

func TestSVGEmpty(t *testing.T) {
	g := &fdg.Graph{Name: "none", Regions: []fdg.Region{{Node: -1}}}
	inspect(t, g, draw(t, g))
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestSVGError(t *testing.T) {
	if err := graph.SVG(broken{}, small(t)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// random nests loops and branches and joins nodes at random.
func random(r *rand.Rand) *fdg.Graph {
	g := &fdg.Graph{Name: "random", Train: "Train", Regions: []fdg.Region{{Node: -1}}}
	for i := range 1 + r.IntN(9) {
		g.Fragments = append(g.Fragments, fdg.Fragment{Name: fmt.Sprint("part", i), Group: "learner"})
	}
	var fill func(region, depth int)
	fill = func(region, depth int) {
		for range r.IntN(7) {
			id := len(g.Nodes)
			n := fdg.Node{ID: id, Kind: fdg.Batch, Text: "rl.Mean(x)", Pos: fdg.Pos{File: "r.go", Line: id}, Region: region}
			g.Regions[region].Nodes = append(g.Regions[region].Nodes, id)
			g.Nodes = append(g.Nodes, n)
			kinds := []fdg.Kind{fdg.Batch, fdg.Batch, fdg.Call, fdg.Log, fdg.Break, fdg.Loop, fdg.Branch}
			switch kind := kinds[r.IntN(len(kinds))]; {
			case kind == fdg.Break:
				g.Nodes[id].Kind = kind
			case !kind.Control():
				g.Nodes[id].Kind, g.Nodes[id].Fragment = kind, append(g.Fragments, fdg.Fragment{})[r.IntN(len(g.Fragments)+1)].Name
			case depth < 4:
				g.Nodes[id].Kind = kind
				for arm := range 1 + r.IntN(2) {
					next := len(g.Regions)
					g.Nodes[id].Opens = append(g.Nodes[id].Opens, next)
					g.Regions = append(g.Regions, fdg.Region{ID: next, Node: id, Label: []string{"then", "else"}[arm]})
					fill(next, depth+1)
				}
			}
		}
	}
	fill(0, 0)
	for range len(g.Nodes) * 2 {
		e := fdg.Edge{From: r.IntN(len(g.Nodes)), To: r.IntN(len(g.Nodes)), Kind: fdg.OfValue, Resource: -1, Carried: -1, Part: "x"}
		if e.From >= e.To {
			e.Carried = 0
		}
		g.Edges = append(g.Edges, e)
	}
	g.SortEdges()
	return g
}

// rect is a rectangle, or a point, of a drawing.
type rect struct{ x, y, w, h float64 }

func (a rect) meets(b rect) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

func (a rect) holds(b rect) bool {
	return a.x <= b.x && b.x+b.w <= a.x+a.w && a.y <= b.y && b.y+b.h <= a.y+a.h
}

// sheet is a drawing as a test reads it.
type sheet struct {
	view  rect
	all   []rect
	nodes map[string]rect
	edges map[string]bool
	lines [][]rect // as corners
	notes []rect   // labels on lines
}

// inspect finds what is wrong with any drawing.
func inspect(t *testing.T, g *fdg.Graph, svg []byte) {
	t.Helper()
	s := read(t, svg)
	for _, r := range s.all {
		if !s.view.holds(r) {
			t.Errorf("%v is outside of %v", r, s.view)
		}
	}
	for i := range g.Nodes {
		a, ok := s.nodes[fmt.Sprint("n", i)]
		if !ok {
			t.Errorf("node %d is not drawn", i)
		}
		for j := range i {
			if b := s.nodes[fmt.Sprint("n", j)]; a.meets(b) {
				t.Errorf("nodes %d and %d lie on one another", i, j)
			}
		}
		for _, l := range s.lines {
			if through(l, a) {
				t.Errorf("a line %v goes through node %d at %v", l, i, a)
			}
		}
	}
	for i, a := range s.notes {
		if slices.ContainsFunc(s.notes[:i], a.meets) {
			t.Errorf("the label at %v lies on another", a)
		}
		for id, b := range s.nodes {
			if a.meets(b) {
				t.Errorf("the label at %v lies on node %s", a, id)
			}
		}
	}
	for _, e := range g.Edges {
		if !s.edges[strconv.Itoa(e.ID)] {
			t.Errorf("edge %d is not drawn", e.ID)
		}
	}
}

// through reports whether a line touches the inside of a rectangle.
func through(line []rect, r rect) bool {
	in := rect{r.x + 1, r.y + 1, r.w - 2, r.h - 2}
	for i := 1; i < len(line); i++ {
		a, b := line[i-1], line[i]
		x, y := min(a.x, b.x), min(a.y, b.y)
		if in.meets(rect{x - .1, y - .1, max(a.x, b.x) - x + .2, max(a.y, b.y) - y + .2}) {
			return true
		}
	}
	return false
}

func read(t *testing.T, svg []byte) *sheet {
	t.Helper()
	s := &sheet{nodes: map[string]rect{}, edges: map[string]bool{}}
	var groups []map[string]string
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return s
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			attr := map[string]string{}
			for _, a := range x.Attr {
				attr[a.Name.Local] = a.Value
			}
			groups = append(groups, attr)
			s.element(x.Name.Local, attr, groups)
		case xml.EndElement:
			groups = groups[:len(groups)-1]
		}
	}
}

var number = regexp.MustCompile(`-?[0-9.]+`)

func floats(s string) (list []float64) {
	for _, m := range number.FindAllString(s, -1) {
		x, _ := strconv.ParseFloat(m, 64)
		list = append(list, x)
	}
	return list
}

// element notes where one element lies; groups are those around it and itself.
func (s *sheet) element(name string, attr map[string]string, groups []map[string]string) {
	for _, id := range strings.Fields(attr["data-edges"]) {
		s.edges[id] = true
	}
	at := func(key string) float64 { return append(floats(attr[key]), 0)[0] }
	switch name {
	case "svg":
		v := floats(attr["viewBox"])
		s.view = rect{v[0], v[1], v[2], v[3]}
	case "rect":
		r := rect{at("x"), at("y"), at("width"), at("height")}
		s.all = append(s.all, r)
		if id := groups[len(groups)-2]["id"]; id != "" {
			s.nodes[id] = r
		} else if groups[len(groups)-2]["class"] == "note" {
			s.notes = append(s.notes, r)
		}
	case "text":
		s.all = append(s.all, rect{x: at("x"), y: at("y")})
	case "path":
		if groups[len(groups)-2]["data-edges"] == "" {
			return
		}
		var line []rect
		for p := range slices.Chunk(floats(attr["d"]), 2) {
			line = append(line, rect{x: p[0], y: p[1]})
		}
		s.all = append(s.all, line...)
		s.lines = append(s.lines, line)
	}
}

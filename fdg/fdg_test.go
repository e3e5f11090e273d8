package fdg_test

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
)

// small returns a loop that steps environments and applies a gradient when a number
// says so.
func small() *fdg.Graph {
	at := func(line int) fdg.Pos { return fdg.Pos{File: "loop.go", Line: line, Col: 2} }
	each := fdg.Freq{Loops: []int{0}}
	maybe := fdg.Freq{Loops: []int{0}, Maybe: true}
	port := func(peer string) fdg.Port {
		return fdg.Port{
			Peer: peer, Kind: fdg.OfValue, Name: "reward", Edges: []int{1}, Type: "rl.Tensor", Axis: fdg.Environments,
			Freq: each, Operators: []fdg.Operator{fdg.Send, fdg.Gather}, Blocking: true,
		}
	}
	return &fdg.Graph{
		Version: fdg.Version, Name: "example.com/loop", Train: "Train", Pos: at(1),
		Regions: []fdg.Region{
			{ID: 0, Node: -1, Nodes: []int{0}},
			{ID: 1, Node: 0, Nodes: []int{1, 2, 3}},
			{ID: 2, Node: 3, Label: "then", Nodes: []int{4}},
		},
		Nodes: []fdg.Node{
			{ID: 0, Kind: fdg.Next, Text: "for run.Next()", Pos: at(2), Opens: []int{1}, Axis: fdg.None},
			{ID: 1, Kind: fdg.Step, Op: "env.Batch.Step", Text: "t.Env.Step(act)", Pos: at(3), Region: 1, Fragment: "environment", Freq: each, Axis: fdg.Environments, Shape: "[env, ...]", Reads: []int{0}, Writes: []int{0}},
			{ID: 2, Kind: fdg.Value, Op: "rl.Run.Value", Text: "run.Value(out.Reward)", Pos: at(4), Region: 1, Fragment: "learner", Freq: each, Axis: fdg.None},
			{ID: 3, Kind: fdg.Branch, Text: "if x > 0", Pos: at(5), Region: 1, Opens: []int{2}, Freq: each, Axis: fdg.None},
			{ID: 4, Kind: fdg.Log, Op: "rl.Run.Log", Text: "run.Log(\"hit\", one)", Pos: at(6), Region: 2, Fragment: "environment", Freq: maybe, Axis: fdg.None},
		},
		Edges: []fdg.Edge{
			{ID: 0, Kind: fdg.OfResource, From: 1, To: 1, Resource: 0, Carried: 0, Axis: fdg.Environments, Freq: each},
			{ID: 1, Kind: fdg.OfValue, From: 1, Part: "Reward", To: 2, Into: "x", Resource: -1, Carried: -1, Type: "rl.Tensor", Axis: fdg.Environments, Freq: each},
			{ID: 2, Kind: fdg.OfControl, From: 2, To: 3, Resource: -1, Carried: -1, Axis: fdg.None, Freq: each},
		},
		Resources: []fdg.Resource{{ID: 0, Name: "environments", Kind: "environments", Type: "env.Batch", Axis: fdg.Environments, Sharing: fdg.Pinned, Home: "environment", Pos: at(9)}},
		Fragments: []fdg.Fragment{
			{Name: "environment", Group: "environment", Nodes: []int{1, 4}, Resources: []int{0}, Exits: []fdg.Port{port("learner")}, Impls: []fdg.Impl{fdg.Host}},
			{Name: "learner", Group: "learner", Nodes: []int{2}, Entries: []fdg.Port{port("environment")}, Impls: []fdg.Impl{fdg.Host}},
		},
		Conditions: []fdg.Condition{{Node: 3, Owner: "learner", Readers: []string{"environment"}, Freq: each}},
	}
}

func ExampleGraph_Print() {
	_ = small().Print(os.Stdout)
	// Output:
	// graph example.com/loop Train loop.go:1
	//
	// resources
	//   environments   environments env.Batch, environments, pinned at environment (loop.go:9)
	//
	// loop
	//   0 for run.Next() (loop.go:2)
	//     1 step [environment] t.Env.Step(act) [env, ...] (loop.go:3)
	//         reads environments from 1 carried by 0
	//         writes environments
	//     2 value [learner] run.Value(out.Reward)  (loop.go:4)
	//         <- x from 1.Reward: rl.Tensor
	//     3 if x > 0 (loop.go:5)
	//         decided by 2
	//       4 log [environment] run.Log("hit", one)  (loop.go:6)
	//
	// fragments
	//   environment (environment; host): 1 4
	//     home of environments
	//     -> learner: value reward rl.Tensor, environments, each iteration, by send or gather
	//   learner (learner; host): 2
	//
	// conditions
	//   3 is decided by learner and followed by environment, each iteration
}

func ExampleReadJSON() {
	var file bytes.Buffer
	if err := small().WriteJSON(&file); err != nil {
		fmt.Println(err)
	}
	g, err := fdg.ReadJSON(&file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range g.Fragments {
		for _, p := range f.Exits {
			fmt.Println(f.Name, "to", p.Peer, "each", g.Often(p.Freq), "by", p.Operators)
		}
	}
	// Output: environment to learner each iteration by [send gather]
}

func ExampleGraph_Check() {
	g := small()
	g.Nodes[1].Fragment = "learner"
	fmt.Println(g.Check())
	// Output: node 1 writes environments, whose home is environment, in "learner"
	// node 1 reads environments, which is pinned at environment, in "learner"
}

func ExampleGraph_Often() {
	g := small()
	fmt.Println(g.Often(g.Nodes[4].Freq))
	fmt.Println(g.Often(fdg.Common(g.Nodes[0].Freq, g.Nodes[4].Freq)))
	// Output:
	// iteration ?
	// run ?
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := small().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	first := b.String()
	g, err := fdg.ReadJSON(&b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, small()) {
		t.Error("the graph came back changed")
	}
	for old, now := range map[string]string{`"version": 1`: `"version": 2`, `"train"`: `"trein"`, `"to": 2`: `"to": 7`} {
		if _, err := fdg.ReadJSON(strings.NewReader(strings.Replace(first, old, now, 1))); err == nil {
			t.Errorf("with %s for %s it was read without an error", now, old)
		}
	}
}

// TestCheck breaks every promise once.
func TestCheck(t *testing.T) {
	if err := small().Check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(g *fdg.Graph){
		"version":             func(g *fdg.Graph) { g.Version = 9 },
		"names no package":    func(g *fdg.Graph) { g.Name = "" },
		"function's body":     func(g *fdg.Graph) { g.Regions = nil },
		"has number":          func(g *fdg.Graph) { g.Nodes[2].ID = 7 },
		"stands twice":        func(g *fdg.Graph) { g.Regions[2].Nodes = []int{4, 4} },
		"stands in no region": func(g *fdg.Graph) { g.Regions[2].Nodes = nil },
		"no node 9":           func(g *fdg.Graph) { g.Regions[2].Nodes = []int{9} },
		"not opened by":       func(g *fdg.Graph) { g.Regions[2].Node = 1 },
		"no kind or no text":  func(g *fdg.Graph) { g.Nodes[1].Text = "" },
		"no position":         func(g *fdg.Graph) { g.Nodes[1].Pos = fdg.Pos{} },
		"is control flow":     func(g *fdg.Graph) { g.Nodes[3].Fragment = "learner" },
		"has no arm":          func(g *fdg.Graph) { g.Nodes[4].Kind = fdg.Branch },
		"would fire":          func(g *fdg.Graph) { g.Nodes[4].Freq.Maybe = false },
		"uses resource 3":     func(g *fdg.Graph) { g.Nodes[1].Reads = []int{3} },
		"out of order":        func(g *fdg.Graph) { g.Edges[2] = g.Edges[1]; g.Edges[2].ID = 2 },
		"names no loop":       func(g *fdg.Graph) { g.Edges[0].Carried = -1 },
		"does not hold":       func(g *fdg.Graph) { g.Edges[1].Carried = 3 },
		"does not write":      func(g *fdg.Graph) { g.Nodes[1].Writes = nil },
		"does not read":       func(g *fdg.Graph) { g.Nodes[1].Reads = nil },
		"names resource":      func(g *fdg.Graph) { g.Edges[1].Resource = 0 },
		"comes from a log":    func(g *fdg.Graph) { g.Nodes[1].Kind = fdg.Log },
		"decides node":        func(g *fdg.Graph) { g.Edges[2].To = 4 },
		"has kind":            func(g *fdg.Graph) { g.Edges[2].Kind = "zz" },
		"no name or no kind":  func(g *fdg.Graph) { g.Resources[0].Name = "" },
		`is ""`:               func(g *fdg.Graph) { g.Resources[0].Sharing = "" },
		"does not know it":    func(g *fdg.Graph) { g.Fragments[0].Resources = nil },
		"whose home is":       func(g *fdg.Graph) { g.Nodes[2].Writes = []int{0} },
		"which is pinned":     func(g *fdg.Graph) { g.Nodes[2].Reads = []int{0} },
		"no name or no group": func(g *fdg.Graph) { g.Fragments[1].Group = "" },
		"is there twice":      func(g *fdg.Graph) { g.Fragments[1].Name = "environment" },
		"which does not list": func(g *fdg.Graph) { g.Fragments[1].Nodes = nil },
		"is listed by":        func(g *fdg.Graph) { g.Fragments[1].Nodes = []int{2, 4} },
		"leaves by 0":         func(g *fdg.Graph) { g.Fragments[0].Exits = nil },
		"enters by 2":         func(g *fdg.Graph) { g.Fragments[1].Entries = append(g.Fragments[1].Entries, g.Fragments[1].Entries...) },
		"has a port to":       func(g *fdg.Graph) { g.Fragments[0].Exits[0].Peer = "zz" },
		"without operators":   func(g *fdg.Graph) { g.Fragments[0].Exits[0].Operators = nil },
		"with edge 8":         func(g *fdg.Graph) { g.Fragments[0].Exits[0].Edges = []int{1, 8} },
		"does not end at":     func(g *fdg.Graph) { g.Fragments[0].Exits[0].Edges = []int{1, 2} },
		"condition 1 is a":    func(g *fdg.Graph) { g.Conditions[0].Node = 1 },
		"is owned by":         func(g *fdg.Graph) { g.Conditions[0].Owner = "zz" },
		"does not cross":      func(g *fdg.Graph) { g.Conditions[0].Readers = nil },
		"opens region 1":      func(g *fdg.Graph) { g.Nodes[3].Opens = []int{2, 1} },
		"which comes later": func(g *fdg.Graph) {
			g.Regions[2].Nodes, g.Nodes[2].Region, g.Regions[1].Nodes = []int{2, 4}, 2, []int{1, 3}
		},
		"lists its nodes out":   func(g *fdg.Graph) { g.Fragments[0].Nodes = []int{4, 1} },
		"is not the home of":    func(g *fdg.Graph) { g.Fragments[1].Resources = []int{0} },
		"loop 0 opens 2":        func(g *fdg.Graph) { g.Nodes[0].Opens = []int{1, 1} },
		"a step and opens":      func(g *fdg.Graph) { g.Nodes[1].Opens = []int{2} },
		"there is no node 5":    func(g *fdg.Graph) { g.Edges[1].To = 5 },
		"but says 0":            func(g *fdg.Graph) { g.Nodes[4].Region = 0 },
		"region 1 has number":   func(g *fdg.Graph) { g.Regions[1].ID = 2 },
		"edge 1 has number":     func(g *fdg.Graph) { g.Edges[1].ID = 2 },
		"resource 0 has":        func(g *fdg.Graph) { g.Resources[0].ID = 2 },
		"condition: there is":   func(g *fdg.Graph) { g.Conditions[0].Node = 99 },
		"fragment environment:": func(g *fdg.Graph) { g.Fragments[0].Nodes = []int{1, 4, 12} },
	} {
		g := small()
		spoil(g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got: %v", want, err)
		}
	}
}

func TestShape(t *testing.T) {
	a, b := small(), small()
	b.Name, b.Nodes[1].Text, b.Edges[1].Part, b.Resources[0].Name = "other", "x.Y(z)", "Prize", "worlds"
	if !reflect.DeepEqual(a.Shape(), b.Shape()) {
		t.Error("names are part of the shape")
	}
	b.Edges[1].Carried = 0
	if reflect.DeepEqual(a.Shape(), b.Shape()) {
		t.Error("dependences are no part of the shape")
	}
}

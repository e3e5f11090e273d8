package project

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

var update = flag.Bool("update", false, "write the golden files")

// loops are the accepted ones: real algorithms, and the analyser's fixtures.
var loops = []string{"../../../algo/...", "../analyze/testdata/src/loops/...", "./testdata/src/loops/..."}

// wanted returns the groupings of the built-in policies, and for fixtures also those
// that the policies would not form.
func wanted(g *fdg.Graph) []plan.Grouping {
	if strings.Contains(g.Name, "/testdata/") {
		return standard(g)
	}
	return policy.Groupings(g, policy.Builtin())
}

func take() ([]Result, error) { return Package(context.Background(), ".", wanted, loops...) }

// once takes every loop apart for all tests.
var once = sync.OnceValues(take)

func generated(t testing.TB) (out []Result) {
	t.Helper()
	results, err := once()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Graph != nil {
			out = append(out, r)
		}
	}
	if len(out) < 24 {
		t.Fatalf("only %d loops", len(out))
	}
	return out
}

// label names a loop's golden files.
func label(r Result) string {
	if name := filepath.Base(r.Package); strings.Contains(r.Package, "/algo/") {
		return "algo-" + name
	} else {
		return name
	}
}

// printed are the fixtures whose programs are in golden files, to be read: members of a family,
// awkward Go, memory, replay. What the programs of all loops compute is tested by TestParity.
var printed = []string{"awkward", "groups", "recurrent", "stores"}

// made lists the programs of a loop, and why others cannot be.
func made(r Result) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		if name != registryFile {
			fmt.Fprintln(&b, name)
		}
	}
	for _, x := range r.Refused {
		for _, p := range x.Problems {
			p.Pos.Filename = filepath.Base(p.Pos.Filename)
			fmt.Fprintf(&b, "%s: %v\n", x.Grouping, p)
		}
	}
	return []byte(b.String())
}

// TestPrograms: the programs of fixtures are those that were looked at, the two ends of every edge
// meet, and a grouping that a loop cannot be taken apart by has a reason.
func TestPrograms(t *testing.T) {
	for _, r := range generated(t) {
		t.Run(label(r), func(t *testing.T) {
			t.Parallel()
			for name, text := range r.Files {
				if strings.HasSuffix(name, ".go") && name != "gen_weft.go" {
					meets(t, name, text)
				}
			}
			if stale, err := r.Stale(); !strings.Contains(r.Package, "/testdata/") {
				if len(stale) > 0 || err != nil {
					t.Errorf("not up to date: %v %v; run weft generate ./algo/...", stale, err)
				}
				return
			}
			dir := filepath.Join("testdata", "golden", label(r))
			files := map[string][]byte{"made.txt": made(r)}
			if slices.Contains(printed, label(r)) {
				maps.Copy(files, r.Files)
				delete(files, registryFile) // the analyser's golden files have the graph
			}
			golden(t, dir, files)
		})
	}
}

// golden compares files with those of a folder.
func golden(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	var have []string
	entries, err := os.ReadDir(dir)
	if err != nil && len(files) > 0 {
		t.Fatal(err)
	}
	for _, e := range entries {
		have = append(have, e.Name())
	}
	if want := slices.Sorted(maps.Keys(files)); !slices.Equal(have, want) {
		t.Errorf("%s holds %v, generated were %v; look and run go test -update", dir, have, want)
	}
	for name, text := range files {
		if want, _ := os.ReadFile(filepath.Join(dir, name)); !bytes.Equal(text, want) {
			t.Errorf("%s differs; look at it and run go test -update:\n%s", filepath.Join(dir, name), text)
		}
	}
}

// TestAgain: two runs give the same bytes.
func TestAgain(t *testing.T) {
	a, err := once()
	if err != nil {
		t.Fatal(err)
	}
	b, err := take()
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if !maps.EqualFunc(a[i].Files, b[i].Files, bytes.Equal) {
			t.Errorf("%s: two runs differ", a[i].Package)
		}
	}
}

// TestBroken: generated files that do not compile are not in the way of new ones,
// and are known to be stale.
func TestBroken(t *testing.T) {
	dir := filepath.Join("testdata", "src", "broken")
	results, err := Package(t.Context(), ".", standard, "./"+dir)
	if err != nil {
		t.Fatal(err)
	}
	stale, err := results[0].Stale()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"gen_coarse.go", "gen_fine.go", "gen_learners.go", "gen_old.go", "gen_weft.go"}
	if !slices.Contains(stale, "gen_old.go") || !slices.Contains(stale, "gen_coarse.go") || slices.Contains(stale, "gen_mine.go") {
		t.Errorf("stale: %v, want %v", stale, want)
	}
}

// TestRefused: what a grouping cannot express is said, with position and reason.
// What fixtures are refused for is in their golden files.
func TestRefused(t *testing.T) {
	group := func(over fdg.Axis, fragments ...string) plan.Group {
		return plan.Group{Name: fragments[0], Fragments: fragments, Over: over}
	}
	cases := []struct {
		name   string
		groups []plan.Group
		want   string
	}{
		{"left out", []plan.Group{group(fdg.None, "environment", "actor", "replay", "gradient")},
			"every.go:38:1: fragment apply is in no group of it"},
		{"one agent", []plan.Group{group(fdg.None, "environment"), group(fdg.Agents, "actor", "replay", "gradient", "apply")},
			"every.go:38:1: the loop has no family of agents"},
		{"both replicated", []plan.Group{group(fdg.Environments, "environment"), group(fdg.Environments, "actor", "replay"), group(fdg.None, "gradient", "apply")},
			"every.go:40:10: environment and actor are both replicated"},
		{"gradients to replicas", []plan.Group{group(fdg.Environments, "environment", "actor", "replay", "gradient"), group(fdg.Environments, "apply")},
			"environment and apply are both replicated"},
	}
	results, err := Package(t.Context(), ".", func(*fdg.Graph) (out []plan.Grouping) {
		for i, c := range cases {
			out = append(out, plan.Grouping{Name: fmt.Sprint("it", i), Groups: c.groups})
		}
		return out
	}, "../analyze/testdata/src/loops/every")
	if err != nil {
		t.Fatal(err)
	}
	if len(results[0].Refused) != len(cases) {
		t.Fatalf("refused: %v", results[0].Refused)
	}
	for i, c := range cases {
		r := results[0].Refused[i]
		if r.Grouping != fmt.Sprint("it", i) || results[0].Files["gen_"+r.Grouping+".go"] != nil || !strings.Contains(r.Err().Error(), c.want) {
			t.Errorf("%s: refused: %v, want %s", c.name, r, c.want)
		}
	}
}

// TestMembers: members that cannot be apart are refused, with position and reason.
func TestMembers(t *testing.T) {
	const dir = "testdata/src/loops/agents"
	file, err := filepath.Abs(filepath.Join(dir, "agents.go"))
	if err != nil {
		t.Fatal(err)
	}
	base, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, from, to, want string }{
		{"another one", "acts[j] = a.act.Call", "_, acts[j] = a, t.Agents[0].act.Call", "66:21: this may be another member"},
		{"the one before", "acts[j] = a.act.Call", "_, acts[j] = a, t.Agents[max(0, j-1)].act.Call", "66:21: this may be another member"},
		{"kept from outside", "for i := range t.Horizon {\n", "first := t.Agents[0]\n\t\tfor i := range t.Horizon {\n\t\t\trun.Log(\"f\", first.act.Call(run.Key(\"f\"), obs[0]).Value)\n", "62:12: this may be another member"},
		{"a part of them", "for j, a := range t.Agents {\n\t\t\ta.learn", "for j, a := range t.Agents[1:] {\n\t\t\ta.learn", "84:3: members are shared out by their number"},
		{"all in each", "a.learn(run.At(\"agent\", j), steps[j], total)", "for k, b := range t.Agents {\n\t\t\t\ta.learn(run.At(\"agent\", j).At(\"k\", k), steps[j], total)\n\t\t\t\tb.Rollout.Insert(steps[j])\n\t\t\t}", "85:4: a member that goes through all members"},
	}
	for _, c := range cases {
		text := strings.Replace(string(base), c.from, c.to, 1)
		if text == string(base) {
			t.Fatalf("%s: nothing to change", c.name)
		}
		results, err := Overlay(t.Context(), ".", map[string][]byte{file: []byte(text)}, standard, "./"+dir)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(results[0].Refused, func(r Refusal) bool { return r.Grouping == "agents" })
		if i < 0 || !strings.Contains(results[0].Refused[i].Err().Error(), c.want) {
			t.Errorf("%s: refused %v, findings %v, want %s", c.name, results[0].Refused, results[0].Findings, c.want)
		}
	}
}

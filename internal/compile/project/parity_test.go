package project

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/internal/algotest"
)

// outcome is testdata/src/parity's report of a run.
type outcome struct {
	Loop, Grouping string
	Replicas       int
	Weights, State string
	Logs           []string
	Values         []float64
	Moved          bool
	Steps          int64
	Err            string
	Fused          int64
	Apart          []string
	Arrays         []string
	Counts         []string
	Work           string
	Traces         []string
	Early          [][]call
	Taken          []string
}

// overlaid returns the generated files as the go command sees them beside the loops,
// which get what a runner wants of a trainer.
func overlaid(t testing.TB, results []Result, change func(pkg, name string, text []byte) []byte) string {
	dir := t.TempDir()
	replace := map[string]string{}
	put := func(name string, text []byte) {
		file := filepath.Join(dir, fmt.Sprintf("%d%s", len(replace), filepath.Ext(name)))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		replace[name] = file
	}
	for _, r := range results {
		for name, text := range r.Files {
			if change != nil {
				text = change(filepath.Base(r.Package), name, text)
			}
			put(filepath.Join(r.Dir, name), text)
		}
		if strings.Contains(r.Package, "/testdata/") {
			recv := "*Trainer"
			if strings.Contains(string(r.Files["gen_weft.go"]), "Trainer[") {
				recv = "*Trainer[S]"
			}
			put(filepath.Join(r.Dir, "zz_agent.go"), fmt.Appendf(nil, "package %s\n\nimport \"%s/rl\"\n\nfunc (t %s) Agent() rl.Agent { return nil }\n", filepath.Base(r.Package), strings.TrimSuffix(module, "/"), recv))
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, list, 0o600); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// ran runs loops plain and taken apart.
func ran(t testing.TB, overlay string, names ...string) map[string][]outcome {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd := exec.Command(goTool, append([]string{"run", "-overlay", overlay, "./testdata/src/parity"}, names...)...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &problems)
	}
	var list []outcome
	if err := json.Unmarshal(out.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	by := map[string][]outcome{}
	for _, o := range list {
		by[o.Loop] = append(by[o.Loop], o)
	}
	return by
}

// exact are the groupings with one learner, which give the plain loop's bits.
var exact = map[string]bool{"coarse": true, "fine": true, "agents": true, "apart": true, Lowered: true}

// unlowered are the loops that turn out not to fit on a device when they are to run
// there, with what is said.
var unlowered = map[string]string{
	"population": "cannot live on a device: it does not implement rl.Resident",
	"partial":    "tensors before it and",
}

// near is how far weights of several learners, whose gradients are summed in parts,
// may be from those of one.
const near = 1e-5

// wrong says how a run differs from the plain one, or nothing.
func wrong(plain, o outcome) string { return differs(plain, o, exact[o.Grouping]) }

// differs compares bits, or, of several learners, weights within rounding.
func differs(plain, o outcome, bits bool) string {
	switch {
	case plain.Err != "" || o.Err != "":
		return "failed: " + plain.Err + o.Err
	case !plain.Moved:
		return "the weights never moved"
	case bits || o.Replicas == 1:
		switch {
		case o.Weights != plain.Weights:
			return "other weights"
		case o.State != plain.State:
			return "another state"
		case !slices.Equal(o.Logs, plain.Logs):
			return "other logs"
		}
		return otherWork(plain, o, true)
	}
	for i, x := range o.Values {
		if math.Abs(x-plain.Values[i]) > near {
			return fmt.Sprintf("weight %d is %g, not %g", i, x, plain.Values[i])
		}
	}
	return cmp.Or(records("record", plain.Logs, o.Logs), records("array", plain.Arrays, o.Arrays), otherWork(plain, o, false))
}

// ofOwnRows are records of what a replica makes of its own rows and has no rows itself:
// their mean is not that of all rows.
var ofOwnRows = regexp.MustCompile(`explained_variance `)

// records compares lines with numbers, these within rounding.
func records(what string, plain, logs []string) string {
	if len(plain) != len(logs) {
		return fmt.Sprintf("%d lines of %ss, not %d", len(logs), what, len(plain))
	}
	for i, was := range plain {
		if !ofOwnRows.MatchString(was) && !slices.EqualFunc(strings.Fields(was), strings.Fields(logs[i]), nearly) {
			return fmt.Sprintf("%s %q, not %q", what, logs[i], was)
		}
	}
	return ""
}

// nearly reports whether two words are equal, or numbers within rounding.
func nearly(a, b string) bool {
	x, err := strconv.ParseFloat(strings.Trim(a, "{}[]"), 64)
	y, err2 := strconv.ParseFloat(strings.Trim(b, "{}[]"), 64)
	return a == b || err == nil && err2 == nil && math.Abs(x-y) <= 100*near*(1+math.Abs(x))
}

// TestParity: every loop that is taken apart, with 1, 2 and 3 replicas of which one
// has fewer environments, does what the plain loop does.
func TestParity(t *testing.T) {
	results := generated(t)
	var names []string // all of them
	if testing.Short() {
		names = []string{"nested", "tangled", "dqn", "algo-ppo"}
	}
	got := ran(t, overlaid(t, results, nil), names...)
	runs := 0
	seen, fused := map[string]bool{}, map[string]int64{}
	for name, list := range got {
		base, _, _ := strings.Cut(name, "/")
		seen[base] = len(list) > 1
		if len(list) == 1 {
			t.Errorf("%s was run as the plain loop alone: %s", name, list[0].Err)
		}
		for _, o := range list[1:] {
			runs++
			fused[base] += o.Fused
			for _, why := range o.Apart {
				t.Errorf("%s under %s with %d replicas: a part is no graph: %s", name, o.Grouping, o.Replicas, why)
			}
			if why, refused := unlowered[name]; refused && o.Grouping == Lowered {
				if !strings.Contains(o.Err, why) {
					t.Errorf("%s lowered: %q, want %q", name, o.Err, why)
				}
				continue
			}
			if why := wrong(list[0], o); why != "" && o.Err != "nothing was generated" {
				t.Errorf("%s under %s with %d replicas: %s", name, o.Grouping, o.Replicas, why)
			}
		}
	}
	for _, r := range results {
		if len(r.Files) > 0 && !seen[label(r)] && (names == nil || slices.Contains(names, label(r))) {
			t.Errorf("%s was not run", r.Package)
		}
	}
	for _, name := range append(fusing(t), "bandit", "groups", "recurrent", "refined", "tangled", "two") {
		if seen[name] && fused[name] == 0 {
			t.Errorf("%s: no part of a program was one graph", name)
		}
	}
	t.Logf("%d runs of %d loops", runs, len(got))
}

// fusing returns the algorithms with programs of which a part is one graph.
func fusing(t *testing.T) (names []string) {
	for _, a := range weft.Builtin().Algorithms {
		trial, err := algotest.TrialOf(a)
		if err != nil {
			t.Fatal(err)
		}
		if !trial.Ways.Unfused {
			names = append(names, "algo-"+algotest.Folder(a))
		}
	}
	return names
}

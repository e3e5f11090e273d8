package weft_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
	"github.com/weft-rl/weft/rl"
)

var update = flag.Bool("update", false, "write the table of docs/policies.md")

const policyPage = "docs/policies.md"

// TestPolicyTable: the page's table says which algorithm runs under which policy,
// and why not, as found by trying.
func TestPolicyTable(t *testing.T) {
	page, err := os.ReadFile(policyPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), "<!-- table -->\n")
	_, after, end := strings.Cut(rest, "<!-- end -->\n")
	if !ok || !end {
		t.Fatalf("%s has no place for the table", policyPage)
	}
	want := before + "<!-- table -->\n" + policyTable(t) + "<!-- end -->\n" + after
	if *update {
		if err := os.WriteFile(policyPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("the table of %s is no longer true (go test -run PolicyTable -update . writes it):\n%s", policyPage, policyTable(t))
	}
}

func policyTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	var reasons []string
	who := map[string][]string{} // cells by reason
	b.WriteString("| |")
	for _, p := range policy.Builtin() {
		fmt.Fprintf(&b, " %s |", p.Name)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(policy.Builtin())) + "\n")
	for _, a := range weft.Builtin().Algorithms {
		fmt.Fprintf(&b, "| %s |", a.Name)
		for _, p := range policy.Builtin() {
			class, why := tried(t, a, p)
			if why != "" {
				class = "-"
				reason := fmt.Sprintf("`%s`: %s", p.Name, why)
				if who[reason] == nil {
					reasons = append(reasons, reason)
				}
				who[reason] = append(who[reason], a.Name)
			}
			fmt.Fprintf(&b, " %s |", class)
		}
		b.WriteString("\n")
	}
	b.WriteString("\nWhere there is a dash:\n\n")
	for _, r := range reasons {
		fmt.Fprintf(&b, "- %s, %s\n", strings.Join(who[r], ", "), r)
	}
	return b.String()
}

// triedAsync reports whether an algorithm's small run ends under a policy with asynchronous edges.
func triedAsync(t *testing.T, a algo.Algorithm, p policy.Policy) bool {
	t.Helper()
	trial, err := algotest.TrialOf(a)
	if err != nil {
		t.Fatal(err)
	}
	s := newSubject(a, trial, trial.Short)
	_, err = app.Train(context.Background(), app.Job{
		Algorithm: s.Algorithm, Env: s.env, Set: s.set, Steps: s.steps,
		Deployment: plan.Deployment{Policy: p.Name, Workers: 2, Async: true},
	})
	if err != nil {
		t.Logf("%s under %s, asynchronously: %v", a.Name, p.Name, err)
	}
	return err == nil
}

// tried runs an algorithm under a policy for an iteration, with two workers if it has
// them: what kind of result there is, or why there is none.
func tried(t *testing.T, a algo.Algorithm, p policy.Policy) (class, why string) {
	t.Helper()
	e := environmentOf(t, a)
	workers := 2
	if p.AsIs || p.Lowered {
		workers = 1
	}
	set := []string{"envs=4"}
	if learnsFromData(t, a) {
		set = settingsOf(t, a)
	}
	_, err := app.Train(context.Background(), app.Job{
		Algorithm: a, Env: e, Set: set, Steps: 1, Deployment: plan.Deployment{Policy: p.Name, Workers: workers},
	})
	if err != nil {
		text := strings.ReplaceAll(err.Error(), "Job.Deployment.Workers", "--workers") // as the command line tells it
		line, _, _ := strings.Cut(text, "\n")
		return "", strings.TrimPrefix(line, "policy "+p.Name+": ")
	}
	switch {
	case p.Lowered:
		class = "D"
	case sums(t, a, e, p):
		class = "R"
	default:
		class = "S"
	}
	if p.Async != policy.Never && triedAsync(t, a, p) {
		class += " A"
	}
	return class, ""
}

// learnsFromData reports whether a setting of an algorithm names the data set that it learns from.
func learnsFromData(t *testing.T, a algo.Algorithm) bool {
	t.Helper()
	fields, err := config.Fields(a.Config())
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(fields, func(f config.Field) bool { return f.Key == "data" && f.Names == "data set" })
}

// settingsOf returns the settings of an algorithm's small run.
func settingsOf(t *testing.T, a algo.Algorithm) []string {
	t.Helper()
	trial, err := algotest.TrialOf(a)
	if err != nil {
		t.Fatal(err)
	}
	return trial.Set.List()
}

func environmentOf(t *testing.T, a algo.Algorithm) env.Entry {
	t.Helper()
	id := a.Presets[0].Env
	if learnsFromData(t, a) {
		trial, err := algotest.TrialOf(a)
		if err != nil {
			t.Fatal(err)
		}
		id = trial.Env // of the data set
	}
	e, err := algotest.Environment(weft.Builtin(), id)
	if err != nil {
		t.Fatalf("%s's first preset: %v", a.Name, err)
	}
	return e
}

// sums reports whether several learners add up gradients under a policy.
func sums(t *testing.T, a algo.Algorithm, e env.Entry, p policy.Policy) bool {
	t.Helper()
	c, err := algotest.Configure(a, settingsOf(t, a))
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(algotest.Device(t), 1)
	x, err := a.New(s, algo.On(s, e, nil, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	set, _ := edge.ProgramsOf(x)
	g, err := fdg.Unpack(set.Graph)
	if err != nil {
		t.Fatal(err)
	}
	by, err := p.Grouping(g)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(g.Nodes, func(n fdg.Node) bool {
		group := by.Group(by.Of(n.Fragment))
		return n.Kind == fdg.Gradient && group != nil && group.Over == fdg.Environments
	})
}

package adversary

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/adversary/testdata/src/job"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/project"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// specimen is a generated loop with what the compiler made of it.
type specimen struct {
	number   uint64
	source   []byte
	features []feature
	program  program
	verdict  verdict
	why      string            // of a refusal or a failure
	policies []string          // that programs were generated for
	left     map[string]string // policies that were refused, with why
}

// verdict holds the answer of the compiler about a loop.
type verdict int

const (
	accepted verdict = iota
	rejected         // with findings, or for every policy
	failed           // the compiler panicked, or its output does not compile
)

// frame loads the package that loops stand in for.
func frame(t testing.TB) *analyze.Frame {
	t.Helper()
	frames, err := analyze.Frames(t.Context(), ".", "./testdata/src/frame")
	if err != nil {
		t.Fatal(err)
	}
	return frames[0]
}

// compiled writes loop number n and has it compiled. The loop itself must compile.
func compiled(t testing.TB, f *analyze.Frame, n uint64, names []string) (s specimen) {
	t.Helper()
	s = specimen{number: n, left: map[string]string{}}
	s.source, s.features = grown(n, names)
	s.program.name = fmt.Sprint("Loop", n)
	if unused, err := f.Unused(map[string][]byte{"loop.go": s.source}); err != nil || len(unused) > 0 {
		t.Fatalf("loop %d does not compile: %v %v\n%s", n, err, unused, s.source)
	}
	defer func() {
		if p := recover(); p != nil {
			s.verdict, s.why = failed, fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	src, err := f.Source(map[string][]byte{"loop.go": s.source})
	if err != nil {
		s.verdict, s.why = failed, err.Error()
		return s
	}
	if src.Graph == nil {
		s.verdict, s.why = rejected, fmt.Sprint(src.Findings)
		return s
	}
	result, err := project.Of(src, func(g *fdg.Graph) []plan.Grouping { return policy.Groupings(g, policy.Builtin()) })
	if err != nil {
		s.verdict, s.why = failed, err.Error()
		return s
	}
	s.take(f, result)
	return s
}

// take files the programs that were generated.
func (s *specimen) take(f *analyze.Frame, r project.Result) {
	files := map[string][]byte{"loop.go": s.source}
	check := map[string][]byte{"loop.go": s.source}
	for name, text := range r.Files {
		if files[name] = text; strings.HasSuffix(name, ".go") {
			check[name] = text
		}
	}
	refusals := map[string]string{}
	for _, x := range r.Refused {
		refusals[x.Grouping] = x.Err().Error()
	}
	for _, p := range policy.Builtin() {
		by, err := p.Grouping(r.Graph)
		name := by.Name
		if p.Lowered {
			name = project.Lowered
		}
		switch why, no := refusals[name]; {
		case p.AsIs:
		case err != nil:
			s.left[p.Name] = "does not fit: " + err.Error()
		case no:
			s.left[p.Name] = why
		default:
			s.policies = append(s.policies, p.Name)
		}
	}
	if len(s.policies) == 0 {
		s.verdict, s.why = rejected, fmt.Sprint(s.left)
		return
	}
	s.program.files = files
	if unused, err := f.Unused(check); err != nil || len(unused) > 0 {
		s.verdict, s.why = failed, fmt.Sprintf("the generated code does not compile: %v %v", err, unused)
	}
}

// roles reports whether the loop trains a family of agents.
func (s *specimen) roles() bool { return strings.Contains(string(s.source), "newRole(") }

// trial is one run of a specimen, with the plain run that it is held against.
type trial struct {
	job   job.Job
	plain int  // index of the plain run
	exact bool // the same bits are expected
}

// trials returns the runs of a specimen: plain for both values of the settings,
// every policy, and a resume.
func (s *specimen) trials() (out []trial) {
	r := rand.New(rand.NewPCG(s.number, 19))
	base := job.Job{Loop: s.program.name, Procs: 1 + r.IntN(2), Patience: patience}
	base.Env = []string{"Identity", "Continuous", "Memory", "Endless"}[r.IntN(4)]
	base.Config = job.Config{Envs: 6 + r.IntN(3), Horizon: 2 + r.IntN(2), Flag: r.IntN(2) == 0, Kind: r.IntN(2)}
	if s.roles() {
		base.Env = "Kinds"
	}
	base.Budget = int64(4 * base.Config.Envs * base.Config.Horizon)
	both := []job.Job{base}
	if s.chooses() {
		both = append(both, base)
		both[1].Config.Flag, both[1].Config.Kind = !base.Config.Flag, 1-base.Config.Kind
	}
	for _, j := range both {
		out = append(out, s.underPolicies(r, j, len(out))...)
	}
	return out
}

// chooses reports whether the settings matter to what the loop is made of.
func (s *specimen) chooses() bool {
	for _, f := range s.features {
		if f.class == settings || f.class == refused && f.slot == "policy" {
			return true
		}
	}
	return false
}

// workers returns the numbers of workers that a policy is run with. The roles of an
// environment are four.
func workers(r *rand.Rand, p string) []int {
	list := []int{2, 3, 5}
	switch {
	case p == policy.GPUOnly.Name:
		return []int{1}
	case p == policy.Environments.Name:
		list[2] = 4
	}
	if *every {
		return list
	}
	at := r.IntN(3)
	return list[at : at+1]
}

// underPolicies returns the plain run of a job and those that must equal it.
func (s *specimen) underPolicies(r *rand.Rand, base job.Job, at int) (out []trial) {
	add := func(exact bool, legs ...job.Leg) {
		j := base
		j.Legs = legs
		out = append(out, trial{j, at, exact})
	}
	plain := job.Leg{Policy: "plain", Workers: 1}
	add(true, plain)
	var sure []job.Leg // give the plain loop's bits
	for _, p := range s.policies {
		exact := p != policy.MultiLearner.Name && p != policy.Central.Name
		for _, k := range workers(r, p) {
			leg := job.Leg{Policy: p, Workers: k, NoFuse: r.IntN(2) == 0, Processes: 1}
			leg.Apart = p == policy.SingleLearnerCoarse.Name && k > 1 && s.number%2 == 0 && s.program.files["gen_stores.go"] != nil
			base.Delay = 0
			switch n := r.IntN(8); {
			case n == 0 && k > 1:
				leg.Processes = 2
			case n < 4:
				base.Delay = 1 + r.Uint64()
			}
			add(exact, leg)
			if leg.Processes = 1; exact {
				sure = append(sure, leg)
			}
		}
	}
	first, then := plain, plain
	if len(sure) > 0 {
		if first = sure[r.IntN(len(sure))]; r.IntN(2) == 0 {
			then = sure[r.IntN(len(sure))]
		}
	}
	first.Until = int64(1 + r.IntN(2))
	halt := plain
	halt.Until = first.Until
	add(true, halt, plain)
	if first.Policy != "plain" || then.Policy != "plain" {
		add(true, first, then)
	}
	return out
}

// TestCompile: every loop is Go that compiles.
func TestCompile(t *testing.T) {
	f := frame(t)
	for n := range uint64(2000) {
		source, features := grown(n, nil)
		s := specimen{features: features}
		if unused, err := f.Unused(map[string][]byte{"loop.go": source}); err != nil || len(unused) > 0 {
			t.Errorf("loop %d (%s) does not compile: %v %v", n, s.labels(), err, unused)
		}
	}
}

package project

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/plan"
)

var (
	howMany = flag.Int("loops", 40, "loops that TestMetamorphic writes, from -seed on")
	only    = flag.Uint64("loop", 0, "the one loop that TestMetamorphic writes, by the number that it printed")
)

// patience is how many seconds a run may take that normally takes milliseconds.
const patience = 120

// specimen is a loop that was written at random, with what is to be done with it.
type specimen struct {
	seed      uint64
	source    []byte
	program   program
	groupings []plan.Grouping // of the jobs behind the first
	summed    []bool          // whether replicas have parts of a gradient there
	jobs      []job           // plain first
}

// randomFrame returns what random loops are analysed in.
func randomFrame(t testing.TB) *analyze.Frame {
	t.Helper()
	frames, err := analyze.Frames(t.Context(), ".", "./testdata/src/random")
	if err != nil {
		t.Fatal(err)
	}
	return frames[0]
}

// bred returns the specimen of a loop, under groupings that want makes of its graph,
// until so many were taken. An error says what the analyser or the projector could
// not do with it.
func bred(f *analyze.Frame, s specimen, want func(*fdg.Graph) []plan.Grouping, n int) (_ specimen, refused int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if err := compiles(f, map[string][]byte{"_.go": s.source}); err != nil {
		return s, 0, err
	}
	src, err := f.Source(map[string][]byte{"random.go": s.source})
	if err != nil {
		return s, 0, err
	}
	if src.Graph == nil {
		return s, 0, fmt.Errorf("the analyser does not accept it: %v", src.Findings)
	}
	if wrong := disagreements(src.Source, src.Graph); len(wrong) > 0 {
		return s, 0, fmt.Errorf("the graph is not that of the tree: %v", wrong)
	}
	s.program.files = map[string][]byte{"_.go": s.source}
	for _, by := range want(src.Graph) {
		if len(s.groupings) == n {
			break
		}
		made := Result{Graph: src.Graph}
		if err := made.generate(src.Source, []plan.Grouping{by}); err != nil {
			return s, refused, err
		}
		if slices.ContainsFunc(made.Refused, func(x Refusal) bool { return x.Grouping == by.Name }) {
			refused++
			continue
		}
		if wrong := apart(by.Name, made.Files["gen_"+by.Name+".go"]); len(wrong) > 0 {
			return s, refused, fmt.Errorf("%v", wrong)
		}
		s.take(by, made)
	}
	if len(s.groupings) == 0 {
		return s, refused, fmt.Errorf("all groupings were refused")
	}
	return s, refused, compiles(f, s.program.files)
}

func compiles(f *analyze.Frame, files map[string][]byte) error {
	unused, err := f.Unused(files)
	if err == nil && len(unused) > 0 {
		err = fmt.Errorf("not used: %v", unused)
	}
	if err != nil {
		return fmt.Errorf("it does not compile: %w", err)
	}
	return nil
}

// jsonOf returns a graph as JSON.
func jsonOf(g *fdg.Graph) string {
	var b strings.Builder
	_ = g.WriteJSON(&b) // to memory
	return b.String()
}

// take adds a grouping's programs.
func (s *specimen) take(by plan.Grouping, made Result) {
	s.program.files["_"+by.Name+".go"] = made.Files["gen_"+by.Name+".go"]
	s.program.graph = jsonOf(made.Graph)
	s.program.made = append(s.program.made, by.Name)
	s.groupings = append(s.groupings, by)
	s.summed = append(s.summed, slices.ContainsFunc(made.Graph.Nodes, func(n fdg.Node) bool {
		g := by.Group(by.Of(n.Fragment))
		return n.Kind == fdg.Gradient && g != nil && g.Over == fdg.Environments
	}))
}

// randomSpecimen returns that of a seed.
func randomSpecimen(f *analyze.Frame, seed uint64) (specimen, int, error) {
	r := rand.New(rand.NewPCG(seed, 2))
	s := specimen{seed: seed, source: grown(seed)}
	s.program.name = fmt.Sprint("L", seed)
	s, refused, err := bred(f, s, func(g *fdg.Graph) []plan.Grouping { return mixture(r, g) }, 2)
	plain := job{
		Loop: s.program.name, Shards: 1, Procs: 2, Members: 3, Patience: patience,
		Env: []string{"Identity", "Continuous", "Memory", "Endless"}[r.IntN(4)], Envs: 3 + r.IntN(4),
	}
	s.jobs = []job{plain}
	for _, by := range s.groupings {
		j := plain
		j.Grouping, j.Fuse, j.Procs = by.Name, r.IntN(2) == 0, 1+r.IntN(2)
		if r.IntN(3) > 0 {
			j.Delay = r.Uint64()
		}
		for _, g := range by.Groups {
			switch g.Over {
			case fdg.Environments:
				j.Shards = 1 + r.IntN(min(4, j.Envs))
			case fdg.Agents:
				j.Shards = 1 + r.IntN(j.Members)
			}
		}
		for i := range j.Shards {
			j.Workers = append(j.Workers, i/(1+r.IntN(2)))
		}
		s.jobs = append(s.jobs, j)
	}
	return s, refused, err
}

// mixture returns ways to take a loop apart, those of policies and random ones.
func mixture(r *rand.Rand, g *fdg.Graph) []plan.Grouping {
	of, more := standard(g), shuffled(r, g)
	r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return slices.Concat(of[:1], more[:2], of[1:])
}

// learners reports whether a job is to be compared with loops that meet at
// gradients. These have no tables, and know all rows of environments, not of
// minibatches, when statistics are updated.
func (s *specimen) learners(i int) bool {
	has := func(text string) bool { return strings.Contains(string(s.source), text) }
	return i > 0 && s.summed[i-1] && s.jobs[i].Shards > 1 && !has("t.Replay") && !(has("replay.Take(") && has("t.Seen.Update("))
}

// wrong says what is wrong with the outcome of a job, or nothing. Where replicas sum
// gradients the reference has the bits; the plain loop's weights are near unless
// rounding grows on the way.
func (s *specimen) wrong(i int, plain, o, reference outcome) string {
	why := differs(plain, o, !s.summed[i-1])
	if strings.Contains(string(s.source), "rl.Standardise(") && slices.ContainsFunc([]string{"weight ", "record ", "array "}, func(p string) bool { return strings.HasPrefix(why, p) }) {
		why = otherCalls(plain, o, true, true) // up to where it can grow
	}
	switch {
	case why != "" || !s.learners(i):
		return why
	case reference.Err != "":
		return "the reference failed: " + reference.Err
	case reference.Weights != o.Weights:
		return "other weights than those of the reference"
	}
	return otherCalls(reference, o, false, false)
}

// results holds the outcomes of specimens: of every job, and of its reference.
type results struct {
	specimen
	got, reference []outcome
}

// carriedOut builds and runs specimens, with others that share what is known of
// them.
func carriedOut(t testing.TB, all []specimen, others []program, otherJobs []job) (out []results, of []outcome) {
	programs, jobs := slices.Clone(others), []job{}
	for _, s := range all {
		programs, jobs = append(programs, s.program), append(jobs, s.jobs...)
	}
	b := built(t, programs)
	got := b.run(slices.Concat(jobs, otherJobs))
	var refs []job
	for _, s := range all {
		out = append(out, results{s, got[:len(s.jobs)], make([]outcome, len(s.jobs))})
		for i, j := range s.jobs {
			if j.Reference = max(1, got[0].Steps); s.learners(i) {
				refs = append(refs, j)
			}
		}
		got = got[len(s.jobs):]
	}
	met := b.run(refs)
	for _, r := range out {
		for i := range r.jobs {
			if r.learners(i) {
				r.reference[i], met = met[0], met[1:]
			}
		}
	}
	return out, got
}

// wrongs returns the jobs that went wrong, with why.
func (r results) wrongs() map[int]string {
	out := map[int]string{}
	for i := 1; i < len(r.jobs); i++ {
		if why := r.wrong(i, r.got[0], r.got[i], r.reference[i]); why != "" {
			out[i] = why
		}
	}
	return out
}

// still reports whether a loop's weights never move: it does not count.
func (r results) still() bool { return r.got[0].Err == "" && !r.got[0].Moved }

// TestMetamorphic: random loops under random groupings, replicas, fusions and
// delays do what the plain loop does, bit for bit where there is one learner. And
// it has teeth: faults that are put into their programs are seen.
func TestMetamorphic(t *testing.T) {
	f := randomFrame(t)
	tally, next, faulty, want := map[string]int{}, *seed*1_000_000, *only == 0, *howMany
	if testing.Short() {
		want = min(want, 30)
	}
	for tally["loops"] < want {
		n := min(250, (want-tally["loops"])*11/10+1)
		if *only > 0 {
			next, n = *only, 1
		}
		var all []specimen
		for range n {
			s, refused, err := randomSpecimen(f, next)
			next++
			tally["groupings refused"] += refused
			if err != nil {
				t.Errorf("%s\n%s", s.again(err.Error()), s.smaller(t, f, 0))
				continue
			}
			all = append(all, s)
		}
		if len(all) > 0 {
			examined(t, f, all, faulty, tally)
		}
		if faulty = false; *only > 0 || len(all) == 0 {
			break
		}
	}
	t.Logf("%v", tally)
}

// examined runs specimens and says what is wrong with them.
func examined(t *testing.T, f *analyze.Frame, all []specimen, faulty bool, tally map[string]int) {
	var list []sabotage
	if faulty {
		list = sabotaged(all)
	}
	programs, jobs := carry(list)
	ran, of := carriedOut(t, all, programs, jobs)
	shown := false
	for _, r := range ran {
		if r.still() {
			tally["loops that do not move"]++
			continue
		}
		tally["loops"]++
		tally["runs"] += len(r.jobs)
		for i := range r.jobs {
			tally["calls of graphs"] += int(r.got[i].Fused)
			if r.learners(i) {
				tally["references"]++
			}
		}
		for i, why := range r.wrongs() {
			tally["wrong"]++
			if shown {
				t.Error(r.again(fmt.Sprintf("%+v: %s", r.jobs[i], why)))
				continue
			}
			shown = true
			t.Errorf("%s\nIt is wrong without most of it, too:\n%s", r.again(fmt.Sprintf("%+v: %s", r.jobs[i], why)), r.smaller(t, f, i))
		}
	}
	if faulty {
		noticed(t, list, ran, of)
	}
}

// again returns what went wrong, and how to see it again.
func (s specimen) again(why string) string {
	return fmt.Sprintf("loop %d: %s\nAgain: go test ./internal/compile/project -run TestMetamorphic -loop %d", s.seed, why, s.seed)
}

// smaller returns the source of a small loop that fails as the specimen does: in job i, or
// with 0 before anything runs.
func (s specimen) smaller(t testing.TB, f *analyze.Frame, i int) []byte {
	if i == 0 {
		return minimised(f, s.source, func(list [][]byte) []bool {
			out := make([]bool, len(list))
			for j, source := range list {
				_, _, err := bred(f, specimen{source: source}, standard, 99)
				out[j] = err != nil && !strings.Contains(err.Error(), "not accept") && !strings.Contains(err.Error(), "refused")
			}
			return out
		})
	}
	return minimised(f, s.source, func(list [][]byte) []bool {
		out := make([]bool, len(list))
		var all []specimen
		var from []int
		for j, source := range list {
			if c, ok := s.variant(f, source, i, j); ok {
				all, from = append(all, c), append(from, j)
			}
		}
		if len(all) == 0 {
			return out
		}
		ran, _ := carriedOut(t, all, nil, nil)
		for k, r := range ran {
			out[from[k]] = r.got[0].Err == "" && !r.still() && len(r.wrongs()) > 0
		}
		return out
	})
}

// variant returns a specimen with another source and one job of its own.
func (s specimen) variant(f *analyze.Frame, source []byte, i, n int) (specimen, bool) {
	v := specimen{seed: s.seed, source: source}
	v.program.name = fmt.Sprintf("%sv%d", s.program.name, n)
	v, _, err := bred(f, v, func(g *fdg.Graph) []plan.Grouping { return []plan.Grouping{left(s.groupings[i-1], g)} }, 1)
	v.jobs = []job{s.jobs[0], s.jobs[i]}
	for j := range v.jobs {
		v.jobs[j].Loop = v.program.name
	}
	return v, err == nil
}

// left returns a grouping of the fragments that a graph still has.
func left(by plan.Grouping, g *fdg.Graph) plan.Grouping {
	out := plan.Grouping{Name: by.Name}
	for _, x := range by.Groups {
		x.Fragments = slices.DeleteFunc(slices.Clone(x.Fragments), func(name string) bool { return g.Fragment(name) == nil })
		if len(x.Fragments) > 0 {
			out.Groups = append(out.Groups, x)
		}
	}
	return out
}

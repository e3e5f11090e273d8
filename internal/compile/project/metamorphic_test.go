package project

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/plan"
)

var (
	howMany = flag.Int("loops", 200, "how many loops TestMetamorphic writes; the first by -seed")
	tries   = 2 // ways to run each of them
)

// specimen is a loop that was written at random, with what is to be done with it.
type specimen struct {
	seed    uint64
	source  []byte
	program program
	summed  map[string]bool // groupings in which replicas have parts of a gradient
	table   bool
	jobs    []job // plain first
}

// randomFrame is what random loops are analysed in.
func randomFrame(t testing.TB) *analyze.Frame {
	t.Helper()
	frames, err := analyze.Frames(t.Context(), ".", "./testdata/src/random")
	if err != nil {
		t.Fatal(err)
	}
	return frames[0]
}

// bred is the specimen of a seed. An error says what the analyser or the
// projector could not do with it.
func bred(f *analyze.Frame, seed uint64, source []byte) (s specimen, refused int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	s = specimen{seed: seed, source: source, summed: map[string]bool{}, table: strings.Contains(string(source), "t.Replay")}
	files := map[string][]byte{"random.go": source}
	if at, err := f.Unused(files); err != nil || len(at) > 0 {
		return s, 0, fmt.Errorf("it is no Go: %w, unused %v", err, at)
	}
	src, err := f.Source(files)
	if err != nil {
		return s, 0, err
	}
	if src.Graph == nil {
		return s, 0, fmt.Errorf("it was not accepted: %v", src.Findings)
	}
	r := rand.New(rand.NewPCG(seed, 2))
	list := groupingsFor(r, src.Graph)
	var result Result
	for i := 0; i < len(list) && len(s.program.made) < tries; i++ {
		result = Result{Graph: src.Graph}
		if err := result.generate(src.Source, list[i:i+1]); err != nil {
			return s, refused, err
		}
		refused += len(result.Refused)
		if len(result.Refused) == 0 {
			s.take(r, list[i], result)
		}
	}
	s.program.name = fmt.Sprint("L", seed)
	if len(s.program.made) == 0 {
		return s, refused, fmt.Errorf("no grouping could be taken: %v", result.Refused)
	}
	s.program.files["_.go"] = source
	plain := job{Loop: s.program.name, Shards: 1, Procs: 2}
	plain.Env, plain.Envs = s.jobs[0].Env, s.jobs[0].Envs
	s.jobs = slices.Insert(s.jobs, 0, plain)
	return s, refused, nil
}

// groupingsFor are ways to take a loop apart, in a random order.
func groupingsFor(r *rand.Rand, g *fdg.Graph) (out []plan.Grouping) {
	some := standard(g)
	r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	out = append(shuffled(r, g)[:2], some...)
	if r.IntN(2) == 0 {
		out[0], out[2] = out[2], out[0]
	}
	return out
}

// take adds a grouping's programs and a way to run them.
func (s *specimen) take(r *rand.Rand, by plan.Grouping, made Result) {
	if s.program.files == nil {
		s.program.files = map[string][]byte{}
	}
	text := made.Files["gen_"+by.Name+".go"]
	s.program.files["_"+by.Name+".go"] = text
	s.program.made = append(s.program.made, by.Name)
	s.program.graph = string(made.Files[graphFile])
	s.summed[by.Name] = slices.ContainsFunc(made.Graph.Nodes, func(n fdg.Node) bool {
		g := by.Group(by.Of(n.Fragment))
		return n.Kind == fdg.Gradient && g != nil && g.Over == fdg.Environments
	})
	j := job{
		Loop: fmt.Sprint("L", s.seed), Grouping: by.Name, Shards: 1, Fuse: r.IntN(2) == 0, Members: 3, Delay: r.Uint64()%3*r.Uint64() | r.Uint64()%2, Procs: 1 + r.IntN(2),
		Env: []string{"Identity", "Continuous", "Memory", "Memory", "Endless"}[s.seed%5], Envs: 3 + int(s.seed/5%4),
	}
	if slices.ContainsFunc(by.Groups, func(g plan.Group) bool { return g.Over != fdg.None }) {
		j.Shards = 1 + r.IntN(min(4, j.Envs))
	}
	if slices.ContainsFunc(by.Groups, func(g plan.Group) bool { return g.Over == fdg.Agents }) {
		j.Shards = 1 + r.IntN(j.Members)
	}
	for i := range j.Shards {
		j.Workers = append(j.Workers, i/(1+r.IntN(2)))
	}
	s.jobs = append(s.jobs, j)
}

// verdict compares what came out of a specimen's jobs: what is wrong, by job. Where
// replicas sum gradients the reference has the bits; the plain loop's weights are
// near unless rounding grows on the way.
func (s *specimen) verdict(got []outcome, reference map[int]outcome) map[int]string {
	wrong := map[int]string{}
	for i, o := range got {
		ref, ok := reference[i]
		switch why := differs(got[0], o, !s.summed[o.Grouping]); {
		case strings.HasPrefix(why, "weight ") && strings.Contains(string(s.source), "rl.Standardise("):
		case why != "" && i > 0:
			wrong[i] = why
		case ok && ref.Err != "":
			wrong[i] = "the reference failed: " + ref.Err
		}
		if ok && ref.Weights != o.Weights {
			wrong[i] = cmp.Or(wrong[i], "other weights than the reference's")
		}
	}
	return wrong
}

// learners are the jobs to compare with loops that meet at gradients.
func (s *specimen) learners() (out []int) {
	for i, j := range s.jobs {
		if s.summed[j.Grouping] && j.Shards > 1 && !s.table {
			out = append(out, i)
		}
	}
	return out
}

// TestMetamorphic: random loops under random groupings, replicas, fusions and
// delays do what the plain loop does, bit for bit where there is one learner.
func TestMetamorphic(t *testing.T) {
	f := randomFrame(t)
	var seeds []uint64
	for i := range *howMany {
		seeds = append(seeds, *seed*1_000_000+uint64(i))
	}
	sums := map[string]int{}
	for list := range slices.Chunk(seeds, 250) {
		var all []specimen
		for _, seed := range list {
			s, refused, err := bred(f, seed, grown(seed))
			sums["groupings refused"] += refused
			if err != nil {
				t.Errorf("loop %d: %v\n%s", seed, err, grown(seed))
				continue
			}
			all = append(all, s)
		}
		examine(t, all, sums)
	}
	t.Logf("%v", sums)
}

// examine builds and runs specimens.
func examine(t *testing.T, all []specimen, sums map[string]int) {
	var programs []program
	var jobs []job
	for _, s := range all {
		programs, jobs = append(programs, s.program), append(jobs, s.jobs...)
	}
	b, err := built(t, programs)
	var bad unbuilt
	switch {
	case errors.As(err, &bad):
		i := slices.IndexFunc(all, func(s specimen) bool { return s.program.name == bad.loop })
		t.Errorf("loop %d does not compile: %v\n%s", all[i].seed, bad, all[i].source)
		examine(t, slices.Delete(slices.Clone(all), i, i+1), sums)
		return
	case err != nil:
		t.Fatal(err)
	}
	got := b.run(jobs)
	var refs []job
	at := 0
	for _, s := range all {
		for _, i := range s.learners() {
			j := s.jobs[i]
			j.Reference = cmp.Or(got[at].Steps, 1)
			refs = append(refs, j)
		}
		at += len(s.jobs)
	}
	reference := b.run(refs)
	for _, s := range all {
		n := len(s.jobs)
		of := map[int]outcome{}
		for _, i := range s.learners() {
			of[i], reference = reference[0], reference[1:]
		}
		if plain := got[0]; plain.Err == "" && !plain.Moved {
			sums["without a move"]++ // it does not count
			got = got[n:]
			continue
		}
		sums["loops"]++
		sums["runs"] += n
		sums["references"] += len(of)
		wrong := s.verdict(got[:n], of)
		for _, i := range slices.Sorted(maps.Keys(wrong)) {
			sums["wrong"]++
			t.Errorf("loop %d under %+v: %s\n%s\n%s", s.seed, s.jobs[i], wrong[i], s.source, s.program.files["_"+s.jobs[i].Grouping+".go"])
		}
		got = got[n:]
	}
}

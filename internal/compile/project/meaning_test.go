package project

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// variants are the nested fixture written differently. Each stands in for another
// fixture, so that all are built at once.
var variants = []struct {
	name, as string
	change   func(string) string
}{
	{"names that programs use themselves", "every", func(src string) string {
		for _, n := range [][2]string{{"obs", "x"}, {"act", "edge"}, {"steps", "plan"}, {"last", "run2"}, {"batch", "trainCoarseLearner"}, {"mini", "genCoarse"}} {
			body := src[strings.Index(src, "//weft:train"):]
			src = strings.Replace(src, body, regexp.MustCompile(`([^.\w"])`+n[0]+`\b([^:])`).ReplaceAllString(body, "${1}"+n[1]+"${2}"), 1)
		}
		return src
	}},
	{"collecting as a method, learning as a function", "two", func(src string) string {
		collect := between(src, "obs := t.Env.Obs()", "adv, ret :=")
		learn := between(src, "adv, ret :=", "\t\t}\n\t}\n\treturn run.Err()")
		src = strings.Replace(src, collect, "steps, last := t.collect(run, r)\n\t\t\t", 1)
		src = strings.Replace(src, learn, "learn(run, t, r, steps, last)\n", 1)
		collect = strings.Replace(collect, "steps, last := t.Rollout.Drain(), t.value.Call(rl.Key{}, obs)", "return t.Rollout.Drain(), t.value.Call(rl.Key{}, obs)", 1)
		return src + "\nfunc (t *Trainer) collect(run *rl.Run, r int) (kit.Step, rl.Tensor) {\n" + collect +
			"}\n\nfunc learn(run *rl.Run, t *Trainer, r int, steps kit.Step, last rl.Tensor) {\n" + learn + "}\n"
	}},
	{"one step as a method", "bandit", func(src string) string {
		step := between(src, "act := t.act.Call", "obs = out.Obs")
		src = strings.Replace(src, step+"obs = out.Obs", "obs = t.step(run, r, i, obs)", 1)
		return src + "\nfunc (t *Trainer) step(run *rl.Run, r, i int, obs rl.Obs) rl.Obs {\n" + step + "return out.Obs\n}\n"
	}},
	{"a struct between", "recurrent", func(src string) string {
		src = strings.Replace(src, "steps, last := t.Rollout.Drain(), t.value.Call(rl.Key{}, obs)", "both := pair{t.Rollout.Drain(), t.value.Call(rl.Key{}, obs)}\n\t\t\tsteps, last := both.steps, both.last", 1)
		return src + "\ntype pair struct {\n\tsteps kit.Step\n\tlast rl.Tensor\n}\n"
	}},
}

// between returns the text from one string up to another.
func between(s, from, to string) string {
	i := strings.Index(s, from)
	return s[i : i+strings.Index(s[i:], to)]
}

// TestMeaning: how a loop is written changes its programs, not what they do.
func TestMeaning(t *testing.T) {
	const dir = "../analyze/testdata/src/loops"
	base, err := os.ReadFile(filepath.Join(dir, "nested", "nested.go"))
	if err != nil {
		t.Fatal(err)
	}
	sources, patterns, names := map[string][]byte{}, []string{}, []string{"nested"}
	for _, v := range variants {
		file, err := filepath.Abs(filepath.Join(dir, v.as, v.as+".go"))
		if err != nil {
			t.Fatal(err)
		}
		text := v.change(strings.Replace(string(base), "package nested", "package "+v.as, 1))
		sources[file] = []byte(text)
		patterns, names = append(patterns, "./"+filepath.Join(dir, v.as)), append(names, v.as)
	}
	results, err := Overlay(t.Context(), ".", sources, standard, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Graph == nil || len(r.Refused) > 0 || len(r.Files) < 5 {
			t.Fatalf("%s: %v %v", r.Package, r.Findings, r.Refused)
		}
		for name, text := range r.Files {
			if strings.HasSuffix(name, ".go") && name != "gen_weft.go" {
				meets(t, name, text)
			}
		}
		results[i].Files = maps.Clone(r.Files)
		for file, text := range sources {
			if filepath.Dir(file) == r.Dir {
				results[i].Files[filepath.Base(file)] = text
			}
		}
	}
	others := slices.DeleteFunc(slices.Clone(generated(t)), func(r Result) bool {
		return slices.ContainsFunc(results, func(v Result) bool { return v.Package == r.Package })
	})
	got := ran(t, overlaid(t, append(others, results...), nil), names...)
	want := got["nested"][0]
	for _, v := range variants {
		for _, o := range got[v.as][1:] {
			if why := wrong(want, o); why != "" {
				t.Errorf("%s, under %s with %d replicas: %s", v.name, o.Grouping, o.Replicas, why)
			}
		}
	}
}

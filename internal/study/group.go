package study

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/config"
)

// Group is the runs that differ in their task and seed alone, as far as they are
// compared.
type Group struct {
	Name  string
	Tasks map[string][]*Run
}

// Grouping is how runs are compared.
type Grouping struct {
	Groups []Group  // groups in the order in which their first runs were named
	Tasks  []string // sorted
}

// bookkeeping are settings that say how a run is carried out and recorded, and do
// not make it another contender.
var bookkeeping = []string{
	"seed", "env", "wrap", "preset", "eval_every", "eval_episodes", "checkpoint_every", "checkpoint_steps", "keep",
	"resume", "python", "on_env_failure", "steps", "max_workers", "storage", "storage_limit", "profile", "trace_parent",
}

// By groups runs: those with a label by it, the others by the settings by, or,
// without any, by their algorithm and by whatever else differs between runs of
// one algorithm on one task. It refuses two runs of one seed in a group.
func By(runs []*Run, by []string) (Grouping, error) {
	keys, err := fullKeys(runs, by)
	if err != nil {
		return Grouping{}, err
	}
	if len(by) == 0 {
		keys = append([]string{"algorithm"}, differing(runs)...)
	}
	if len(by) == 0 && len(keys) > 1 && len(values(runs, "algorithm")) == 1 {
		keys = keys[1:]
	}
	var g Grouping
	for _, r := range runs {
		g.add(name(r, keys), r)
	}
	slices.Sort(g.Tasks)
	return g, g.check()
}

// add puts a run into its group.
func (g *Grouping) add(name string, r *Run) {
	i := slices.IndexFunc(g.Groups, func(x Group) bool { return x.Name == name })
	if i < 0 {
		i = len(g.Groups)
		g.Groups = append(g.Groups, Group{name, map[string][]*Run{}})
	}
	task := r.Task()
	g.Groups[i].Tasks[task] = append(g.Groups[i].Tasks[task], r)
	if !slices.Contains(g.Tasks, task) {
		g.Tasks = append(g.Tasks, task)
	}
}

// name returns the name of a run's group.
func name(r *Run, keys []string) string {
	if r.Label != "" {
		return r.Label
	}
	var parts []string
	for _, k := range keys {
		value, has := r.Settings[k]
		switch {
		case k == "algorithm":
			parts = append(parts, r.Algorithm())
		case k == "env" || k == "policy" || k == "preset":
			parts = append(parts, value)
		case has: // algorithms have settings of their own
			parts = append(parts, strings.TrimPrefix(k, "set.")+"="+value)
		}
	}
	return strings.Join(parts, " ")
}

// fullKeys returns the keys of settings as runs have them: gamma stands for set.gamma.
func fullKeys(runs []*Run, by []string) (out []string, err error) {
	var errs []error
	known := func(key string) bool {
		return slices.ContainsFunc(runs, func(r *Run) bool { _, ok := r.Settings[key]; return ok })
	}
	for _, key := range by {
		switch {
		case known(key):
			out = append(out, key)
		case known("set." + key):
			out = append(out, "set."+key)
		default:
			errs = append(errs, fmt.Errorf("--by: the runs have no setting %q%s", key, nearest(key, allKeys(runs))))
		}
	}
	return out, errors.Join(errs...)
}

// nearest returns what was probably meant, as the end of a sentence.
func nearest(word string, candidates []string) string {
	if near, ok := config.Nearest(word, candidates); ok {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

// allKeys returns the settings that any of the runs has, sorted, without their groups.
func allKeys(runs []*Run) (out []string) {
	for _, r := range runs {
		for k := range r.Settings {
			out = append(out, strings.TrimPrefix(k, "set."))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// differing returns the settings in which runs of one algorithm on one task
// differ, those without a label, sorted.
func differing(runs []*Run) (out []string) {
	alike := map[string][]*Run{}
	for _, r := range runs {
		if r.Label == "" {
			k := r.Settings["algorithm"] + "\n" + r.Task()
			alike[k] = append(alike[k], r)
		}
	}
	for _, some := range alike {
		for k := range some[0].Settings {
			if !slices.Contains(bookkeeping, k) && len(values(some, k)) > 1 {
				out = append(out, k)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// values returns the values that a setting has in runs.
func values(runs []*Run, key string) (out []string) {
	for _, r := range runs {
		if v := r.Settings[key]; !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// check refuses a group with two runs of one seed on a task.
func (g *Grouping) check() error {
	var errs []error
	for _, x := range g.Groups {
		for _, task := range g.Tasks {
			first := map[string]*Run{}
			for _, r := range x.Tasks[task] {
				seed := r.Settings["seed"]
				if other := first[seed]; other != nil {
					errs = append(errs, twice(x.Name, task, seed, other, r))
					break // one pair says it
				}
				first[seed] = r
			}
		}
	}
	return errors.Join(errs...)
}

// twice says what to do about two runs of one seed.
func twice(group, task, seed string, a, b *Run) error {
	for _, k := range allKeys([]*Run{a, b}) {
		for _, key := range []string{k, "set." + k} {
			if !slices.Contains(bookkeeping, key) && a.Settings[key] != b.Settings[key] {
				return fmt.Errorf("%s and %s are both seed %s of %s on %s and differ in %s: group the runs with --by %s, or name groups, as in A=%s B=%s",
					a.Dir, b.Dir, seed, group, task, k, k, a.Dir, b.Dir)
			}
		}
	}
	return fmt.Errorf("%s and %s are both seed %s of %s on %s, with the same settings: leave one out, or name groups, as in A=%s B=%s",
		a.Dir, b.Dir, seed, group, task, a.Dir, b.Dir)
}

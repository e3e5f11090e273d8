package stat

import "slices"

// Group holds the scores of one contender: an algorithm, or a setting of one.
type Group struct {
	Name   string
	Scores Scores // scores by task, in the same order for all groups that are compared
}

// Comparison holds the statistics of some groups. Lists of estimates are in the
// order of the groups.
type Comparison struct {
	Groups                 []Group
	IQM, Mean, Median, Gap []Estimate // Gap is the optimality gap from Bar; nil without a bar
	Bar                    *float64
	Thresholds             []float64    // thresholds of Profiles
	Profiles               [][]Estimate // [group][threshold]
	Pairs                  []Pair       // every group with every later one
}

// Pair says how likely a run of group First is to score more than one of Second.
type Pair struct {
	First, Second int
	Improvement   Estimate
}

// thresholds is how many points a performance profile has.
const thresholds = 101

// Compare computes the statistics of groups, which have the same tasks and at
// least one run of each. bar is the score that is enough, for the optimality gap;
// nil is none.
func Compare(groups []Group, bar *float64, b Bootstrap) Comparison {
	c := Comparison{Groups: groups, Bar: bar, Thresholds: spread(groups, thresholds)}
	for _, g := range groups {
		all := b.Estimate(func(s []Scores) []float64 { return c.statistics(s[0]) }, g.Scores)
		c.IQM, c.Mean, c.Median = append(c.IQM, all[0]), append(c.Mean, all[1]), append(c.Median, all[2])
		all = all[3:]
		if bar != nil {
			c.Gap, all = append(c.Gap, all[0]), all[1:]
		}
		c.Profiles = append(c.Profiles, all)
	}
	for i := range groups {
		for j := i + 1; j < len(groups); j++ {
			e := b.Estimate(func(s []Scores) []float64 { return []float64{Improvement(s[0], s[1])} }, groups[i].Scores, groups[j].Scores)[0]
			c.Pairs = append(c.Pairs, Pair{i, j, e})
		}
	}
	return c
}

// statistics returns the statistics of one group, in the order in which Compare
// takes them apart. Mean and median are of the means of tasks, the interquartile
// mean and the gap of all runs.
func (c *Comparison) statistics(s Scores) []float64 {
	pool, tasks := s.Pool(), s.TaskMeans()
	out := []float64{InterquartileMean(pool), Mean(tasks), Median(tasks)}
	if c.Bar != nil {
		out = append(out, OptimalityGap(pool, *c.Bar))
	}
	return append(out, Profile(pool, c.Thresholds)...)
}

// spread returns n thresholds from the lowest score of all groups to the highest.
func spread(groups []Group, n int) []float64 {
	var all []float64
	for _, g := range groups {
		all = append(all, g.Scores.Pool()...)
	}
	low, high := slices.Min(all), slices.Max(all)
	out := make([]float64, n)
	for i := range out {
		out[i] = low + (high-low)*float64(i)/float64(n-1)
	}
	return out
}

// Verdict says whether a group has reached a bar.
type Verdict string

// Verdicts of a group: the whole interval of its interquartile mean is at or
// above the bar, all of it is below, or the bar is inside and more seeds are
// needed to tell.
const (
	Reached   Verdict = "reached"
	Missed    Verdict = "missed"
	Undecided Verdict = "undecided"
)

// Judge returns the verdict of an interquartile mean about a bar.
func Judge(iqm Estimate, bar float64) Verdict {
	switch {
	case iqm.Low >= bar:
		return Reached
	case iqm.High < bar:
		return Missed
	}
	return Undecided
}

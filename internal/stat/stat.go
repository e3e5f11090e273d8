// Package stat computes the statistics by which runs of several seeds are
// compared, as Agarwal et al. define them ("Deep reinforcement learning at the
// edge of the statistical precipice", NeurIPS 2021) and rliable computes them:
// aggregates over tasks, performance profiles, the probability of improvement,
// and intervals by the stratified bootstrap. Everything is a function of its
// arguments; randomness comes from a seed.
package stat

// Scores are the scores of runs on one or several tasks: Scores[task][run].
// Tasks may have different numbers of runs; every run counts alike where tasks
// are pooled.
type Scores [][]float64

// Pool returns the scores of all tasks in one list.
func (s Scores) Pool() []float64 {
	out := make([]float64, 0, s.Runs())
	for _, runs := range s {
		out = append(out, runs...)
	}
	return out
}

// Runs returns the number of runs over all tasks.
func (s Scores) Runs() (n int) {
	for _, runs := range s {
		n += len(runs)
	}
	return n
}

// TaskMeans returns the mean score of every task.
func (s Scores) TaskMeans() []float64 {
	out := make([]float64, len(s))
	for i, runs := range s {
		out[i] = Mean(runs)
	}
	return out
}

// Scale returns the scores of every task on a scale on which that task's low is
// 0 and its high is 1.
func (s Scores) Scale(ranges []Range) Scores {
	out := make(Scores, len(s))
	for i, runs := range s {
		for _, x := range runs {
			out[i] = append(out[i], ranges[i].Scale(x))
		}
	}
	return out
}

// Range is a scale for the scores of a task.
type Range struct{ Low, High float64 }

// Scale maps Low to 0 and High to 1. A range without an extent maps everything
// to 1, as all runs are equally good.
func (r Range) Scale(x float64) float64 {
	if r.Low == r.High {
		return 1
	}
	return (x - r.Low) / (r.High - r.Low)
}

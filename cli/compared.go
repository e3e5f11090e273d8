package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/stat"
)

// print writes a comparison for a person, in the columns of a terminal.
func (x *compared) print(out io.Writer) error {
	var b strings.Builder
	b.WriteString(config.Fold(x.subject()) + "\n")
	if text := strings.TrimSpace(x.scale() + x.advice() + " " + x.ends()); text != "" {
		b.WriteString(config.Fold(text) + "\n")
	}
	var names []string
	for _, g := range x.Groups {
		names = append(names, g.Name)
	}
	block(&b, "interquartile mean", "higher is better", names, x.IQM, nil)
	block(&b, "mean", "", names, x.Mean, nil)
	if len(x.grouping.Tasks) > 1 { // of one task it is the mean
		block(&b, "median of tasks", "", names, x.Median, nil)
	}
	if x.Gap != nil {
		block(&b, "optimality gap", fmt.Sprintf("from %s; lower is better", exact(*x.Bar)), names, x.Gap, nil)
	}
	x.profile(&b, names)
	if len(x.Pairs) > 0 {
		var pairs []string
		var all []stat.Estimate
		for _, p := range x.Pairs {
			pairs, all = append(pairs, names[p.First]+" over "+names[p.Second]), append(all, p.Improvement)
		}
		block(&b, "probability of improvement", "the line is at 0.5, no difference", pairs, all, &[2]float64{0, 1})
	}
	b.WriteString("\n")
	for _, text := range x.verdicts() {
		b.WriteString(config.Fold(text) + "\n")
	}
	b.WriteString(x.meaning() + "\n")
	_, err := io.WriteString(plain.Writer(out), b.String())
	return err
}

// Columns of a block: names at most, numbers, and what is left for the drawing.
const (
	nameColumns  = 26
	valueColumns = 8
	barColumns   = config.Width - nameColumns - 4*valueColumns + 5
)

// block writes a statistic: a line for each name with its value, its interval,
// and a drawing of it on a scale that all lines share.
func block(b *strings.Builder, title, note string, names []string, all []stat.Estimate, scale *[2]float64) {
	low, high := all[0].Low, all[0].High
	for _, e := range all {
		low, high = min(low, e.Low, e.Value), max(high, e.High, e.Value)
	}
	middle := -1
	if scale != nil {
		low, high, middle = scale[0], scale[1], barColumns/2
	}
	if note != "" {
		title += " (" + note + ")"
	}
	fmt.Fprintf(b, "\n%s\n", title)
	wide := widest(names)
	for i, e := range all {
		line := fmt.Sprintf("  %-*s %*s  %*s to %-*s  %s", wide, shorten(names[i], wide), valueColumns, metrics.Number(e.Value),
			valueColumns, metrics.Number(e.Low), valueColumns, metrics.Number(e.High), drawn(e, low, high, middle))
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// drawn draws an interval between two ends, with its value as a dot and, if
// middle is not negative, a line there.
func drawn(e stat.Estimate, low, high float64, middle int) string {
	cells := slices.Repeat([]rune{' '}, barColumns)
	at := func(v float64) int {
		if high == low {
			return barColumns / 2
		}
		return min(max(int((v-low)/(high-low)*float64(barColumns-1)+.5), 0), barColumns-1)
	}
	if middle >= 0 {
		cells[middle] = '┊'
	}
	from, to := at(e.Low), at(e.High)
	for i := from; i <= to; i++ {
		cells[i] = '─'
	}
	cells[from], cells[to] = '├', '┤'
	cells[at(e.Value)] = '●'
	return string(cells)
}

// widest returns the columns that names take.
func widest(names []string) (w int) {
	for _, n := range names {
		w = max(w, min(utf8.RuneCountInString(n), nameColumns))
	}
	return w
}

// shorten cuts a name in its middle, since what tells names apart is often at an end.
func shorten(name string, columns int) string {
	r := []rune(name)
	if len(r) <= columns {
		return name
	}
	head := (columns - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(columns-1-head):])
}

// shownThresholds is how many thresholds of a profile the terminal has room for.
const shownThresholds = 5

// profile writes a few columns of the performance profiles.
func (x *compared) profile(b *strings.Builder, names []string) {
	if x.Thresholds[0] == x.Thresholds[len(x.Thresholds)-1] { // all runs are equal
		return
	}
	wide := widest(names)
	fmt.Fprintf(b, "\nperformance profile (part of the runs that score more than ...)\n  %-*s", wide, "")
	var shown []int
	for i := range shownThresholds {
		shown = append(shown, i*(len(x.Thresholds)-1)/shownThresholds)
		fmt.Fprintf(b, " %*s", valueColumns, metrics.Number(x.Thresholds[shown[i]]))
	}
	b.WriteString("\n")
	for i, name := range names {
		fmt.Fprintf(b, "  %-*s", wide, shorten(name, wide))
		for _, t := range shown {
			fmt.Fprintf(b, " %*.2f", valueColumns, x.Profiles[i][t].Value)
		}
		b.WriteString("\n")
	}
}

// advice says how to have a scale that does not depend on which runs are compared.
func (x *compared) advice() string {
	if !x.scaled || x.given {
		return ""
	}
	return " Use --range TASK=LOW:HIGH for a scale that other comparisons can share."
}

// ends says where the runs of a task end at different steps.
func (x *compared) ends() string {
	if x.at > 0 {
		return ""
	}
	var texts []string
	for _, task := range x.grouping.Tasks {
		var steps []int64
		for _, g := range x.grouping.Groups {
			for _, r := range g.Tasks[task] {
				steps = append(steps, r.Steps())
			}
		}
		low, high := slices.Min(steps), slices.Max(steps)
		if float64(high) > 1.1*float64(low) { // more than iterations that are rounded up
			texts = append(texts, fmt.Sprintf("%s after %s to %s steps", task, metrics.Count(low), metrics.Count(high)))
		}
	}
	if texts == nil {
		return ""
	}
	return "The runs were not trained equally long: they end on " + strings.Join(texts, ", on ") + " (--at compares them at one step)."
}

// meaning says what the numbers mean.
func (x *compared) meaning() string {
	how := fmt.Sprintf("The interquartile mean is that of the middle half of the runs; an interval would hold the true value for %g %% of such sets of seeds (stratified bootstrap, %d samples, seed %d).",
		100*x.bootstrap.Level, x.bootstrap.Resamples, x.bootstrap.Seed)
	return config.Fold(strings.TrimSpace(x.leader() + "\n\n" + how))
}

// verdicts says of every group whether it has reached the bar that was asked for.
func (x *compared) verdicts() (out []string) {
	if !x.judged {
		return nil
	}
	bar := exact(*x.Bar)
	for i, g := range x.Groups {
		e := x.IQM[i]
		low, high := metrics.Number(e.Low), metrics.Number(e.High)
		switch stat.Judge(e, *x.Bar) {
		case stat.Reached:
			out = append(out, fmt.Sprintf("%s has reached %s: its interquartile mean is at least %s.", g.Name, bar, low))
		case stat.Missed:
			out = append(out, fmt.Sprintf("%s has missed %s: its interquartile mean is at most %s.", g.Name, bar, high))
		default:
			out = append(out, fmt.Sprintf("Whether %s has reached %s is undecided: its interquartile mean is between %s and %s; more seeds would tell.", g.Name, bar, low, high))
		}
	}
	return out
}

// leader says whether the group with the highest interquartile mean is better
// than the next.
func (x *compared) leader() string {
	if len(x.Groups) < 2 {
		return ""
	}
	order := make([]int, len(x.Groups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case x.IQM[a].Value > x.IQM[b].Value:
			return -1
		case x.IQM[a].Value < x.IQM[b].Value:
			return 1
		}
		return 0
	})
	first, second := order[0], order[1]
	p := x.improvement(first, second)
	text := fmt.Sprintf("A run of %s scores more than one of %s with probability %.2f (%.2f to %.2f)", x.Groups[first].Name, x.Groups[second].Name, p.Value, p.Low, p.High)
	switch {
	case p.Low > .5:
		return text + fmt.Sprintf(": %s is better.", x.Groups[first].Name)
	case p.High < .5:
		return text + ", though its interquartile mean is higher: it wins by more and less often."
	}
	return text + ": these seeds do not tell them apart."
}

// improvement returns the probability that a run of one group scores more than one of another.
func (x *compared) improvement(first, second int) stat.Estimate {
	for _, p := range x.Pairs {
		switch {
		case p.First == first && p.Second == second:
			return p.Improvement
		case p.First == second && p.Second == first:
			e := p.Improvement
			return stat.Estimate{Value: 1 - e.Value, Low: 1 - e.High, High: 1 - e.Low}
		}
	}
	return stat.Estimate{Value: .5, Low: .5, High: .5}
}

package cli

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-rl/weft/internal/draw/chart"
	"github.com/weft-rl/weft/internal/population"
	"github.com/weft-rl/weft/internal/stat"
)

// lineage draws a population: who copied whom, and below it scores and settings over generations.
func lineage(p *population.Study) chart.Figure {
	over := overGenerations(p)
	f := chart.Figure{
		Title:  fmt.Sprintf("Lineage of %d members", p.Members),
		Legend: []string{"all members: median, from the least to the largest", "ancestors of the best"},
		Rows:   [][]chart.Panel{{lanes(p, over)}},
		Notes:  []string{fmt.Sprintf("The darker, the better by %s in its generation; a cross is a member that failed; arrows are copies; the thick line leads to the best.", p.Metric)},
	}
	panels := []chart.Panel{courses(p, over, p.Metric, func(m *population.Member) float64 { return m.Value() })}
	for i, d := range p.Mutate {
		if len(d.Choices) > 0 {
			continue
		}
		label := d.Key
		if d.Log {
			label += ", log10"
		}
		panels = append(panels, courses(p, over, label, func(m *population.Member) float64 {
			if d.Log {
				return math.Log10(d.Number(m.Point[i]))
			}
			return d.Number(m.Point[i])
		}))
	}
	for some := range slices.Chunk(panels, 2) {
		f.Rows = append(f.Rows, some)
	}
	return f
}

// overGenerations returns the generations that are over.
func overGenerations(p *population.Study) []*population.Generation {
	n := slices.IndexFunc(p.Generations, func(g *population.Generation) bool { return !g.Decided })
	if n < 0 {
		n = len(p.Generations)
	}
	return p.Generations[:n]
}

// ends returns where generations end on the axis of steps.
func ends(p *population.Study, over []*population.Generation) (out []float64) {
	for g := range over {
		out = append(out, float64(min(p.Steps, int64(g+1)*p.Every)))
	}
	return out
}

// lanes draws who copied whom.
func lanes(p *population.Study, over []*population.Generation) chart.Lineage {
	out := chart.Lineage{Title: "who copied whom", XLabel: "steps", Ends: ends(p, over), Path: p.Ancestors()}
	for i := range p.Members {
		out.Names = append(out.Names, fmt.Sprintf("member %d", i))
	}
	for g, x := range over {
		out.Shade = append(out.Shade, shades(p, x))
		for _, e := range x.Exploits {
			out.Copies = append(out.Copies, chart.Copy{From: e.From.Member, FromGeneration: e.From.Generation, To: e.Member, ToGeneration: g + 1})
		}
	}
	return out
}

// shades returns how good the members of a generation are, by their ranks; equal scores have the
// same shade.
func shades(p *population.Study, x *population.Generation) []float64 {
	out := make([]float64, len(x.Members))
	for i, m := range x.Members {
		if m.Error != "" {
			out[i] = math.NaN()
			continue
		}
		for _, other := range x.Members {
			if !p.Better(other.Value(), m.Value()) {
				out[i] += 1 / float64(len(x.Members))
			}
		}
	}
	return out
}

// courses draws a number of the members over generations.
func courses(p *population.Study, over []*population.Generation, label string, of func(*population.Member) float64) chart.Lines {
	x := ends(p, over)
	all, line := chart.Series{X: x}, chart.Series{X: x, Style: 1}
	path := p.Ancestors()
	for g, gen := range over {
		var values []float64
		for _, m := range gen.Members {
			if v := of(m); !math.IsNaN(v) && !math.IsInf(v, 0) {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			values = []float64{math.NaN()}
		}
		all.Y = append(all.Y, stat.Median(values))
		all.Low, all.High = append(all.Low, slices.Min(values)), append(all.High, slices.Max(values))
		on := math.NaN()
		if g < len(path) && path[g] >= 0 {
			on = of(gen.Members[path[g]])
		}
		line.Y = append(line.Y, on)
	}
	return chart.Lines{Title: label, XLabel: "steps", Series: []chart.Series{all, line}}
}

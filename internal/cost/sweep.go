package cost

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/weft-rl/weft/internal/draw/chart"
	"github.com/weft-rl/weft/policy"
)

// Point is a plan on some of a cluster's workers.
type Point struct {
	Policy   string `json:"policy"`
	Pipeline bool   `json:"pipeline,omitempty"`
	Workers  int    `json:"workers"`
	Machines int    `json:"machines"`
	Prediction
	Efficiency float64 `json:"efficiency"` // steps a second for each worker, relative to the plain loop on one
	Price      float64 `json:"price"`      // of a million steps, with what failures cost
	Goodput    float64 `json:"goodput"`    // part of the time that the run gets on
	Interval   float64 `json:"interval"`   // seconds between checkpoints that make it so; 0 where nothing fails
}

// Sweep is the plans of all policies on more and more of a cluster's workers.
type Sweep struct {
	Points []Point  `json:"points"`
	Passed []string `json:"passed,omitempty"`
}

// NewSweep records the programs of all policies, and predicts their plans on 1, 2, 4 and so on of a
// cluster's workers. Policies with several learners are among them.
func NewSweep(ctx context.Context, q Question, c *Cluster) (*Sweep, error) {
	q.Learners, q.Workers, q.Site, q.Budget = true, c.Workers(), c.Site, 0
	k := &chooser{Question: q, models: map[string]*Model{}, out: &Choice{}}
	if k.Now == nil {
		k.Now = time.Now
	}
	if err := k.plain(ctx); err != nil {
		return nil, err
	}
	k.Counts = counts(q.Workers)
	for _, pipeline := range []bool{false, true} {
		for _, p := range q.Policies {
			if err := k.consider(ctx, p, pipeline); err != nil {
				return nil, err
			}
		}
	}
	s := &Sweep{Passed: k.out.Passed}
	alone := 0.0
	for _, x := range k.out.Candidates {
		if x.Policy == policy.Plain.Name {
			alone = x.StepsPerSecond
		}
	}
	for _, x := range k.out.Candidates {
		p := Point{Policy: x.Policy, Pipeline: x.Pipeline, Workers: x.Workers, Machines: c.Machines(x.Workers), Prediction: x.Prediction}
		p.Efficiency = x.StepsPerSecond / max(alone, 1e-12) / float64(x.Workers)
		p.Goodput, p.Interval = c.Goodput(x.Workers)
		p.Price = c.Price(x.Workers) / 3600 / max(x.StepsPerSecond*p.Goodput, 1e-12) * 1e6
		s.Points = append(s.Points, p)
	}
	return s, nil
}

// counts returns the powers of two up to a number, and the number itself.
func counts(most int) (out []int) {
	for n := 1; n < most; n *= 2 {
		out = append(out, n)
	}
	return append(out, most)
}

// series returns the points of one policy, and its name.
func (s *Sweep) series() (names []string, of [][]Point) {
	for _, p := range s.Points {
		name := p.Policy
		if p.Pipeline {
			name += " --pipeline"
		}
		i := slices.Index(names, name)
		if i < 0 {
			i = len(names)
			names, of = append(names, name), append(of, nil)
		}
		of[i] = append(of[i], p)
	}
	return names, of
}

// knee returns the number of workers beyond which twice as many bring less than a quarter more.
func knee(points []Point) int {
	at := points[0]
	for _, p := range points[1:] {
		if p.StepsPerSecond < at.StepsPerSecond*math.Pow(1.25, math.Log2(float64(p.Workers)/float64(at.Workers))) {
			return at.Workers
		}
		at = p
	}
	return at.Workers
}

// Print writes a table of all points, where every policy bends, and which are the fastest and the
// cheapest.
func (s *Sweep) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "policy\tworkers\tmachines\titeration\tsteps/s\tefficiency\tused\tper million steps\tgoodput\tcheckpoint every\tbound by")
	names, of := s.series()
	for i, points := range of {
		for _, p := range points {
			every := "-"
			if p.Interval > 0 {
				every = unit(p.Interval)
			}
			fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%.0f\t%.0f %%\t%.0f %%\t%.3g\t%.1f %%\t%s\t%s\n", names[i], p.Workers, p.Machines, unit(p.Seconds), p.StepsPerSecond,
				100*p.Efficiency, 100*p.Used, p.Price, 100*p.Goodput, every, p.Bound)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for i, points := range of {
		if len(points) > 1 {
			fmt.Fprintf(w, "%s: the knee is at %s\n", names[i], count(knee(points)))
		}
	}
	fast := slices.MaxFunc(s.Points, func(a, b Point) int { return compare(a.StepsPerSecond*a.Goodput, b.StepsPerSecond*b.Goodput) })
	cheap := slices.MinFunc(s.Points, func(a, b Point) int { return compare(a.Price, b.Price) })
	fmt.Fprintf(w, "fastest: %s with %s, %.0f steps/s\n", fast.Policy, count(fast.Workers), fast.StepsPerSecond*fast.Goodput)
	if cheap.Price > 0 {
		fmt.Fprintf(w, "cheapest: %s with %s, %.3g for a million steps\n", cheap.Policy, count(cheap.Workers), cheap.Price)
	}
	for _, p := range s.Passed {
		fmt.Fprintf(w, "passed over: %s\n", p)
	}
	return nil
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// WriteSVG draws steps a second, the time of an iteration, the use of the machines and the price of
// a million steps against workers.
func (s *Sweep) WriteSVG(w io.Writer, title string) error {
	names, of := s.series()
	f := chart.Figure{Title: title, Legend: names, Notes: []string{"Predicted by simulating the recorded programs; workers in doublings: 3 is 8 workers."}}
	panel := func(title, label string, y func(Point) float64) chart.Panel {
		l := chart.Lines{Title: title, XLabel: "workers, in doublings", YLabel: label}
		for i, points := range of {
			x := chart.Series{Style: i}
			for _, p := range points {
				x.X, x.Y = append(x.X, math.Log2(float64(p.Workers))), append(x.Y, y(p))
			}
			l.Series = append(l.Series, x)
		}
		return l
	}
	f.Rows = [][]chart.Panel{
		{panel("throughput", "steps/s", func(p Point) float64 { return p.StepsPerSecond }), panel("iteration", "ms", func(p Point) float64 { return p.Seconds * 1e3 })},
		{panel("use of cores and devices", "%", func(p Point) float64 { return 100 * p.Used }), panel("price of a million steps", "", func(p Point) float64 { return p.Price })},
	}
	return f.SVG(w)
}

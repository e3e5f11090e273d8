package cost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// Question describes the plans to choose from.
type Question struct {
	Job      runner.Job
	On       plan.Problem // graph, facts and crossings; its deployment is the base of all candidates
	Policies []policy.Policy
	Devices  []string // that programs are recorded on, the preferred one first
	Workers  int      // at most
	// Counts are the numbers of workers to consider; nil is all.
	Counts []int
	// Learners allows plans in which several learners add up gradients, whose bits are not the
	// plain loop's.
	Learners bool
	// Site returns where a plan of so many workers would run.
	Site func(workers int) Site
	// Budget bounds the time of recording; what is not recorded then is passed over.
	Budget time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Candidate is a plan that was considered.
type Candidate struct {
	Policy   string    `json:"policy"`
	Workers  int       `json:"workers"`
	Pipeline bool      `json:"pipeline,omitempty"`
	Plan     plan.Plan `json:"-"`
	Prediction
}

// String names the plan.
func (x Candidate) String() string {
	text := fmt.Sprintf("%s with %s", x.Policy, count(x.Workers))
	if x.Pipeline {
		text += " and --pipeline"
	}
	return text
}

// Choice is the plans that were considered, the fastest first, and why others were not.
type Choice struct {
	Candidates []Candidate `json:"candidates"`
	Passed     []string    `json:"passed,omitempty"` // sentences
	Recording  float64     `json:"recording"`        // seconds
	Planning   float64     `json:"planning"`         // seconds
}

// Choose records the programs of all groupings that there are plans of, simulates the plans, and
// orders them by the time of an iteration.
func Choose(ctx context.Context, q Question) (*Choice, error) {
	c := &chooser{Question: q, models: map[string]*Model{}, out: &Choice{}}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.begun = c.Now()
	if err := c.plain(ctx); err != nil {
		return nil, err
	}
	for _, pipeline := range []bool{false, true} {
		for _, p := range q.Policies {
			if err := c.consider(ctx, p, pipeline); err != nil {
				return nil, err
			}
		}
	}
	slices.SortStableFunc(c.out.Candidates, func(a, b Candidate) int { return cmp.Compare(a.Seconds, b.Seconds) })
	if len(c.out.Candidates) == 0 {
		return nil, errors.New("no plan was found: " + fmt.Sprint(c.out.Passed))
	}
	return c.out, nil
}

// chooser is a choice under way.
type chooser struct {
	Question
	begun  time.Time
	models map[string]*Model // by grouping and turns; "" is the plain loop's
	out    *Choice
}

// plain records the plain loop.
func (c *chooser) plain(ctx context.Context) error {
	r, err := Record(ctx, c.Job, plan.Plan{Policy: policy.Plain.Name, Shards: 1}, Brief)
	if err != nil {
		return err
	}
	m := Plain(r)
	if t := m.Programs[0].First[0].Time.Fixed; r.Free > 0 && t > 0 {
		m.Ratios = []Ratio{r.ratio(t)}
	}
	c.models[""] = m
	return nil
}

// consider predicts a policy's plans for all numbers of workers.
func (c *chooser) consider(ctx context.Context, p policy.Policy, pipeline bool) error {
	passed := func(why string) error {
		if pipeline {
			why = "--pipeline: " + why
		}
		if text := fmt.Sprintf("%s: %s", p.Name, why); !slices.Contains(c.out.Passed, text) {
			c.out.Passed = append(c.out.Passed, text)
		}
		return nil
	}
	if pipeline && !c.turns(p) {
		return nil
	}
	if p.Lowered {
		return passed("it is one device program: name it to have it")
	}
	if p.Sums(c.On) && !c.Learners {
		return passed("several learners round otherwise than the plain loop: --allow-learners lets it choose them")
	}
	most := min(c.Workers, p.Most(c.On))
	if p.AsIs {
		most = 1
	}
	var refused error
	for workers := 1; workers <= most; workers++ {
		if c.Counts != nil && !slices.Contains(c.Counts, workers) {
			continue
		}
		on := c.problem(p, workers, pipeline)
		made, err := p.Make(on)
		if err != nil {
			refused = err
			continue
		}
		made = made.Fuse(on.Graph, on.Deployment.NoFuse)
		if len(made.Groups) == 0 && !p.AsIs || len(made.Groups) > 0 && workers == 1 {
			continue // it is the plain loop, or costs more than that
		}
		if err := c.predict(ctx, p, made, on, workers, pipeline, passed); err != nil {
			return err
		}
	}
	if refused != nil && !slices.ContainsFunc(c.out.Candidates, func(x Candidate) bool { return x.Policy == p.Name }) {
		return passed(refused.Error())
	}
	return nil
}

// turns reports whether the halves of a policy's environments can take turns.
func (c *chooser) turns(p policy.Policy) bool {
	by, err := p.Groups(c.On)
	made := plan.Plan{Policy: p.Name, Grouping: by}
	return err == nil && made.Turn(c.On.Graph) == nil
}

// replicas returns with how many replicas programs are recorded: two, and four if plans may have
// more than two.
func (c *chooser) replicas(pipeline bool) []int {
	if c.Workers > 2 || pipeline && c.Workers > 1 {
		return []int{2, 4}
	}
	return []int{2}
}

// problem returns what a policy has to solve for so many workers.
func (c *chooser) problem(p policy.Policy, workers int, pipeline bool) plan.Problem {
	on := c.On
	on.Cluster = c.Site(workers).Cluster
	on.Deployment.Policy, on.Deployment.Workers, on.Deployment.Pipeline = p.Name, workers, pipeline
	return on
}

// predict adds a plan to the candidates.
func (c *chooser) predict(ctx context.Context, p policy.Policy, made plan.Plan, on plan.Problem, workers int, pipeline bool, passed func(string) error) error {
	m, err := c.model(ctx, p, made, pipeline)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return passed(err.Error())
	}
	begun := c.Now()
	x, err := Predict(m, made, on.Facts, c.Site(workers))
	c.out.Planning += c.Now().Sub(begun).Seconds()
	if err != nil {
		return passed(fmt.Sprintf("with %d workers: %v", workers, err))
	}
	c.out.Candidates = append(c.out.Candidates, Candidate{p.Name, workers, pipeline, made, x})
	return nil
}

// errLate is why a grouping was not recorded.
var errLate = errors.New("there was no time left to record it")

// model returns that of a plan's grouping, which is recorded when it is first needed.
func (c *chooser) model(ctx context.Context, p policy.Policy, made plan.Plan, pipeline bool) (*Model, error) {
	if len(made.Groups) == 0 {
		return c.models[""], nil
	}
	name := fmt.Sprint(made.Grouping.Name, " ", pipeline)
	if m, ok := c.models[name]; ok {
		if m == nil {
			return nil, errLate
		}
		return m, nil
	}
	c.models[name] = nil
	begun := c.Now()
	if c.Budget > 0 && begun.Sub(c.begun) > c.Budget {
		return nil, errLate
	}
	defer func() { c.out.Recording += c.Now().Sub(begun).Seconds() }()
	on := c.problem(p, 1, pipeline)
	on.Cluster = plan.Local(1, c.Devices...)
	m, err := Recorded(ctx, c.Job, p, on, c.replicas(pipeline)...)
	if err == nil {
		c.models[name] = m
	}
	return m, err
}

// Recorded records a policy's programs with several numbers of replicas, the first of which is two,
// as far as that is possible, on the devices of the problem's first worker, and makes a model of
// them.
func Recorded(ctx context.Context, job runner.Job, p policy.Policy, on plan.Problem, replicas ...int) (*Model, error) {
	var all []*Recording
	var errs []error
	for _, k := range replicas {
		at := on
		at.Deployment.Workers = k
		if on.Deployment.Pipeline {
			at.Deployment.Workers = k / 2
		}
		at.Deployment.Replicas, at.Deployment.Placement = k, nil
		at.Cluster = plan.Local(k, on.Cluster.Workers[0].Devices...)
		made, err := p.Make(at)
		if err == nil {
			var r *Recording
			if r, err = Record(ctx, job, made.Fuse(at.Graph, append(at.Deployment.NoFuse, plan.FuseReplicas, plan.FuseGroups)), Brief); err == nil {
				all = append(all, r)
			}
		}
		errs = append(errs, err)
		if len(all) == 0 {
			return nil, errors.Join(errs...)
		}
	}
	m, err := NewModel(all...)
	if err == nil {
		m.fit(on.Facts, Lanes(on.Cluster.Workers[0].Devices...), all...)
	}
	return m, err
}

// Lanes returns the site of workers in this process, which computes on devices.
func Lanes(devices ...string) func(workers int) Site {
	links := Here
	links.Lane.Latency = laneLatency()
	return func(workers int) Site {
		return Site{Cluster: plan.Local(workers, devices...), Lanes: true, Cores: runtime.GOMAXPROCS(0), Links: links}
	}
}

// shown is how many candidates are shown.
const shown = 5

// Print writes the first candidates, what bounds each, and why the first one wins.
func (c *Choice) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "policy\tworkers\tpipeline\titeration\tsteps/s\tbound by")
	for _, x := range c.Candidates[:min(shown, len(c.Candidates))] {
		pipeline := "no"
		if x.Pipeline {
			pipeline = "yes"
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%.0f\t%s\n", x.Policy, x.Workers, pipeline, unit(x.Seconds), x.StepsPerSecond, x.Bound)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", c.Why())
	for _, p := range c.Passed {
		fmt.Fprintf(w, "passed over: %s\n", p)
	}
	_, err := fmt.Fprintf(w, "recorded for %.1f s, simulated for %.2f s\n", c.Recording, c.Planning)
	return err
}

// Why says why the first candidate wins.
func (c *Choice) Why() string {
	best := c.Candidates[0]
	text := fmt.Sprintf("%v wins", best)
	for _, x := range c.Candidates[1:] {
		if x.Policy != best.Policy {
			return fmt.Sprintf("%s: an iteration is predicted to take %s; %v is the next policy, takes %.2f times as long, and is bound by %s",
				text, unit(best.Seconds), x, x.Seconds/best.Seconds, x.Bound)
		}
	}
	return text + ": no other policy can be chosen here"
}

func count(workers int) string {
	if workers == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", workers)
}

// unit writes a time with three digits and its unit.
func unit(s float64) string {
	switch {
	case s < 1e-3:
		return fmt.Sprintf("%.3g us", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s < 1000:
		return fmt.Sprintf("%.3g s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/population"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/sweep"
)

// populationFlags are the flags of train that make a population.
type populationFlags struct {
	size   string
	mutate []string
	every  int64
	choose string
	metric string
	goal   string
}

func (f *populationFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.size, "population", "", "train `N` members side by side; those that fall behind copy better ones and change the settings of --mutate. weft resume FOLDER resumes all of them")
	flags.StringArrayVar(&f.mutate, "mutate", nil, "setting that members of a population differ in, `key=lo..hi` or key=a,b,c; may be repeated")
	flags.Int64Var(&f.every, "exploit-every", 0, "`steps` after which members of a population are compared; default: a tenth of all steps")
	flags.StringVar(&f.choose, "select", population.Truncation, "`way` to select members: truncation has the worst quarter copy the best quarter, tournament has all others copy from a board of the best states")
	flags.StringVar(&f.metric, "metric", "eval/return", "`metric` that members of a population are compared by")
	flags.StringVar(&f.goal, "goal", "max", "`goal`: max if large values of the metric are good, min if small ones are")
}

// populationOnly are the flags that mean something for a population alone.
var populationOnly = []string{"mutate", "exploit-every", "select", "metric", "goal"}

// asked reports whether there is to be a population.
func (f *populationFlags) asked() bool { return f.size != "" }

// checkPopulation reports what is wrong with the flags of a population, by themselves and beside
// others.
func (f *trainFlags) checkPopulation(cmd *cobra.Command) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	p := &f.members
	if !p.asked() {
		for _, name := range populationOnly {
			if cmd.Flags().Changed(name) {
				wrong("--%s needs --population, the number of members", name)
			}
		}
		return errors.Join(errs...)
	}
	if n, err := strconv.Atoi(p.size); err != nil || n < 2 {
		wrong("--population: %q is not a number of members, at least 2", p.size)
	}
	if len(p.mutate) == 0 {
		wrong("--population: no setting differs between members: add --mutate, as in --mutate learning_rate=1e-4..1e-2 (for seeds of one setting there is --seeds)")
	}
	if p.every < 0 {
		wrong("--exploit-every: %d is not a number of steps", p.every)
	}
	if ways := []string{population.Truncation, population.Tournament}; !slices.Contains(ways, p.choose) {
		errs = append(errs, request.Unknown("--select", p.choose, ways, "weft train --help"))
	}
	if p.goal != "max" && p.goal != "min" {
		wrong("--goal: %q is neither max nor min", p.goal)
	}
	if f.seeds != "" {
		wrong("--population and --seeds: give one of them; members have seeds of their own, from --seed on")
	}
	if _, ok := f.engine().(launch.Stepper); len(f.addresses) > 0 || f.on != "" && !ok {
		wrong("--population: its members are trained on this machine, or with --on slurm: leave --cluster and --on out, or train each member by itself")
	}
	for name, given := range map[string]bool{"record": f.record != "", "log": len(f.trackers) > 0, "dry-run": f.dry && f.on == ""} {
		if given {
			wrong("--%s is for a single run, and --population makes several: leave it out", name)
		}
	}
	return errors.Join(errs...)
}

// dims returns the settings that members differ in.
func (f *populationFlags) dims(set *request.Set, algorithm string) (dims []sweep.Dim, err error) {
	all, err := set.Kinds(algorithm)
	if err != nil {
		return nil, err
	}
	kinds := map[string]string{} // of the algorithm's settings
	for key, kind := range all {
		if key, ok := strings.CutPrefix(key, "set."); ok {
			kinds[key] = kind
		}
	}
	var errs []error
	for _, text := range f.mutate {
		key, values, ok := strings.Cut(strings.TrimPrefix(text, "set."), "=")
		_, known := kinds[key]
		_, ofRun := all[key]
		d, err := sweep.ParseDim(key, values, "--mutate", kinds)
		switch {
		case !ok:
			err = fmt.Errorf("--mutate: %q is not of the form key=lo..hi", text)
		case ofRun && !known:
			err = fmt.Errorf("--mutate: %s is a setting of the run, which is the same for all members: name a setting of the algorithm (weft list algorithms %s shows them)", key, algorithm)
		case slices.ContainsFunc(dims, func(x sweep.Dim) bool { return x.Key == key }):
			err = fmt.Errorf("--mutate: %s is given twice", key)
		case err != nil:
			err = fmt.Errorf("--mutate: %s: %w", key, err)
		}
		dims, errs = append(dims, d), append(errs, err)
	}
	return dims, errors.Join(errs...)
}

// trainPopulation trains a new population. What r says is the same for all members.
func (c *command) trainPopulation(ctx context.Context, l request.Layers, r *request.Request, f *trainFlags) error {
	p, err := c.populationPlan(r, &f.members)
	if err != nil {
		return err
	}
	for _, a := range l.Set {
		if slices.ContainsFunc(p.Mutate, func(d sweep.Dim) bool { return d.Key == a.Key }) {
			return fmt.Errorf("--set and --mutate: both are given %s: give it to one of them", a.Key)
		}
	}
	out := f.out
	if out == "" {
		out = request.NewFolder(f.members.name(r))
	}
	if err := newPopulation(out); err != nil {
		return err
	}
	s := &populating{c: c, dir: out, layers: l, every: p.Every, study: population.New(p)}
	if err := s.compatible(ctx); err != nil {
		return err
	}
	release, err := lockNew(out)
	if err != nil {
		return err
	}
	defer release()
	if err := s.claim(); err != nil {
		return err
	}
	return s.run(ctx, r, f)
}

// name returns what the folder of a population is called by default.
func (f *populationFlags) name(r *request.Request) string {
	return fmt.Sprintf("%s-population%s-seed%d", r.Name(), f.size, r.Seed)
}

// newPopulation refuses a folder that holds a population.
func newPopulation(out string) error {
	if holdsPopulation(out) {
		return fmt.Errorf("--out: %s already holds a population: weft resume %s goes on with it", out, out)
	}
	return nil
}

// lockNew makes a folder and locks it.
func lockNew(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return request.Lock(dir)
}

// populationPlan returns the plan of a population of runs as r.
func (c *command) populationPlan(r *request.Request, f *populationFlags) (p population.Plan, err error) {
	dims, err := f.dims(&c.set, r.Algorithm)
	n, _ := strconv.Atoi(f.size) // checked before
	p = population.Plan{Members: n, Seed: r.Seed, Steps: r.Steps, Every: f.every, Select: f.choose, Metric: f.metric, Goal: f.goal, Mutate: dims}
	if p.Every == 0 {
		p.Every = max(1, r.Steps/10)
	}
	errs := []error{err}
	switch {
	case p.Every >= p.Steps:
		errs = append(errs, fmt.Errorf("--exploit-every: %d steps are not before the end of the run at %d", p.Every, p.Steps))
	case sweep.Evaluated(p.Metric) && r.EvalEpisodes == 0:
		errs = append(errs, fmt.Errorf("--metric: %s needs evaluations, and --eval-episodes is 0: name another metric, such as episode/return_mean", p.Metric))
	case sweep.Evaluated(p.Metric) && r.EvalEvery > 0 && p.Every%r.EvalEvery != 0:
		errs = append(errs, fmt.Errorf("--eval-every: members are compared by evaluations every %d steps, which is no multiple of %d", p.Every, r.EvalEvery))
	}
	if r.Async {
		errs = append(errs, errors.New("--population: asynchronous members do not repeat, so that a population of them could not be resumed: leave --async out"))
	}
	return p, errors.Join(errs...)
}

// compatible checks that members can go on from each other's states: it constructs runs at the ends
// of every range, and compares the shapes of their states.
func (s *populating) compatible(ctx context.Context) error {
	first := make([]string, len(s.study.Mutate))
	for i, d := range s.study.Mutate {
		first[i] = d.Ends()[0]
	}
	want, err := s.shapes(ctx, first)
	if err != nil {
		return err
	}
	var errs []error
	for i, d := range s.study.Mutate {
		for _, value := range d.Ends()[1:] {
			point := slices.Clone(first)
			point[i] = value
			got, err := s.shapes(ctx, point)
			if err == nil {
				err = differ(want, got, d.Key, first[i], value)
			}
			if errs = append(errs, err); err != nil {
				break
			}
		}
	}
	return errors.Join(errs...)
}

// differ returns an error if the shapes of two states are not the same.
func differ(a, b map[string]string, key, was, is string) error {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] && b[name] != "" {
			return fmt.Errorf("--mutate: %s cannot change while a run goes on: with %s=%s its state %s is %s, with %s it is %s, and a member could not take over the state of another; weft sweep searches for such settings",
				key, key, was, name, a[name], is, b[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if _, ok := b[name]; !ok {
			return fmt.Errorf("--mutate: %s cannot change while a run goes on: with %s=%s its state has %s, with %s it has not; weft sweep searches for such settings", key, key, was, name, is)
		}
	}
	if len(a) < len(b) {
		return differ(b, a, key, is, was)
	}
	return nil
}

// shapes returns the shapes of the state of a run with some settings.
func (s *populating) shapes(ctx context.Context, point []string) (map[string]string, error) {
	r, err := s.request(0, point)
	if err != nil {
		return nil, err
	}
	session, release, err := request.Prepare(ctx, r, "", nil)
	if err != nil {
		return nil, err
	}
	defer release()
	if exact, why := session.Exact(); !exact && r.Resume != "restart-episodes" {
		return nil, fmt.Errorf("--population: members copy each other's states, and this run has none to copy: %s; with --resume=restart-episodes members begin new episodes in each generation", why)
	}
	return session.Shapes()
}

// request returns the run of a new member.
func (s *populating) request(member int, point []string) (*request.Request, error) {
	l := s.layers
	l.Set = append(slices.Clone(l.Set), s.assign(point)...)
	l.Flags = slices.Clone(l.Flags)
	if sweep.Evaluated(s.study.Metric) && !l.Sets("eval_every") {
		l.Flags = append(l.Flags, config.Assignment{Key: "eval_every", Value: fmt.Sprint(s.every), Source: "--exploit-every"})
	}
	r, err := s.c.set.Resolve(l)
	if err == nil {
		r.Seed = s.seed(member)
	}
	return r, err
}

// assign returns settings as assignments.
func (s *populating) assign(point []string) (out []config.Assignment) {
	for i, d := range s.study.Mutate {
		out = append(out, config.Assignment{Key: d.Key, Value: point[i], Source: "--mutate"})
	}
	return out
}

// seed returns the seed of a member.
func (s *populating) seed(member int) uint64 { return s.study.Seed + uint64(member) }

// claim makes the folders of all members, with their settings.
func (s *populating) claim() error {
	s.study.Start()
	for _, m := range s.study.Generations[0].Members {
		r, err := s.request(m.Number, m.Point)
		if err == nil {
			err = (&seedRun{r: r, dir: request.MemberFolder(s.dir, m.Number)}).claim()
		}
		if err != nil {
			return err
		}
	}
	return s.keep()
}

// holdsPopulation reports whether a folder is that of a population.
func holdsPopulation(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, request.PopulationFile))
	return err == nil
}

// populationAsBegun refuses other settings for a population.
func populationAsBegun(more []config.Assignment, dir string) error {
	return fmt.Errorf("%s: %s holds a population, which goes on as it was begun: leave it out", more[0].Source, dir)
}

// resumePopulation resumes all members of a population.
func (c *command) resumePopulation(ctx context.Context, dir string, more []config.Assignment, f *trainFlags) error {
	if len(more) > 0 {
		return populationAsBegun(more, dir)
	}
	s := &populating{c: c, dir: dir}
	var err error
	if s.study, err = readPopulation(dir); err != nil {
		return err
	}
	file, err := request.RunConfig(request.MemberFolder(dir, 0))
	if err != nil {
		return err
	}
	_, r, err := c.resumed(ctx, file, nil, dir, &trainFlags{})
	if r == nil {
		return err
	}
	release, err := request.Lock(dir)
	if err != nil {
		return err
	}
	defer release()
	return s.run(ctx, r, f)
}

// run trains the population to its end.
func (s *populating) run(ctx context.Context, r *request.Request, f *trainFlags) error {
	workers := runtime.GOMAXPROCS(0)
	switch s.train = trainMember; {
	case f.allocation != nil:
		s.train, workers = f.memberSteps(), len(f.allocation.Slots)
	case f.processes > 0:
		s.train, workers = trainMemberChild, f.processes
	}
	s.c.started = true
	s.view = populationView{c: s.c, s: s, json: f.json}
	s.view.begin(r)
	err := s.study.Run(ctx, workers, s)
	if err != nil && ctx.Err() != nil {
		s.view.end("interrupted")
		return exitStatus(exitInterrupted)
	}
	if err != nil {
		return err
	}
	s.view.end("done")
	return nil
}

// trainMember trains a member in this process.
func trainMember(ctx context.Context, r *request.Request, dir string, how request.Again) (runner.Result, error) {
	return (&seedRun{r: r, before: r, dir: dir}).goOn(ctx, how, runner.Silent{})
}

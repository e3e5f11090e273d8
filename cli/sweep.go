package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/sweep"
)

// sweepFlags are the flags of sweep.
type sweepFlags struct {
	elsewhere // of it, the cluster alone
	out       string
	parallel  int
	children  bool
	room      bool // with a cluster, train as many at once as its workers have room for
	trials    int
	json      bool
}

func (c *command) sweep() *cobra.Command {
	f := &sweepFlags{}
	cmd := &cobra.Command{
		Use:   "sweep FILE|FOLDER",
		Short: "Search for settings by training many runs",
		Long: "Sweep trains runs with different settings and finds the best. FILE (YAML) says which settings, from which values,\n" +
			"and how they are searched: all combinations (grid), at random, or by what earlier trials have shown (tpe). With\n" +
			"prune, trials that fall behind are stopped early, by successive halving.\n\n" +
			"Everything is in one folder: a run folder for each trial, the table of trials, and best.yaml, a run file of the\n" +
			"best settings. Interrupted or killed, weft sweep FOLDER goes on. Which trials there are and which are stopped\n" +
			"follows from the file and its seed alone, with any number of workers.\n\n" +
			"With --cluster, trials are runs of a cluster, each on as many workers as the file's run says (workers, 1 by\n" +
			"default). Their records are fetched into the folder; checkpoints stay in the workers' --store.",
		Example: "  weft sweep sweep.yaml --out runs/sweep\n  weft sweep runs/sweep\n  weft sweep runs/sweep --trials 50\n" +
			"  weft sweep sweep.yaml --cluster 127.0.0.1:7700\n" +
			"  weft sweep show runs/sweep\n  weft train --config runs/sweep/best.yaml --seeds 5",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes one file or folder of a sweep, not %d arguments", cmd.CommandPath(), len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c.works()
			f.room = !cmd.Flags().Changed("parallel")
			return c.runSweep(cmd, args[0], f)
		},
	}
	flags := cmd.Flags()
	f.credentials.flags(cmd)
	f.travel.flags(cmd)
	flags.StringSliceVar(&f.addresses, "cluster", nil, "`address` of the coordinator whose workers train the trials; a sweep that was begun there goes on there without it")
	flags.StringVar(&f.out, "out", "", "`folder` of a new sweep; default: one under runs/ with the file's name")
	flags.IntVar(&f.parallel, "parallel", runtime.GOMAXPROCS(0), "`number` of trials trained at once, with --cluster as many as its workers have room for; changes no result")
	flags.BoolVar(&f.children, "processes", false, "train every trial in a process of its own, so that one that crashes harms no other")
	flags.IntVar(&f.trials, "trials", 0, "`number` of trials in all, instead of the file's; of a finished sweep, more than it has had")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	cmd.AddCommand(c.sweepShow())
	return cmd
}

// sweepFile is the file in a sweep's folder that says what it is.
const sweepFile = "sweep.yaml"

// sweepPlace returns the file and the folder that an argument stands for.
func sweepPlace(arg, out string) (file, dir string, err error) {
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return "", "", fmt.Errorf("there is no file or folder %s of a sweep", arg)
	case !info.IsDir() && out == "":
		name := strings.TrimSuffix(filepath.Base(arg), filepath.Ext(arg))
		return arg, request.NewFolder(name), nil
	case !info.IsDir():
		return arg, out, nil
	case out != "":
		return "", "", fmt.Errorf("--out: %s is the folder of a sweep, which goes on there: leave --out away", arg)
	}
	file = filepath.Join(arg, sweepFile)
	if _, err := os.Stat(file); err != nil {
		return "", "", fmt.Errorf("%s is not the folder of a sweep: it has no %s", arg, sweepFile)
	}
	return file, arg, nil
}

func (c *command) runSweep(cmd *cobra.Command, arg string, f *sweepFlags) error {
	file, dir, err := sweepPlace(arg, f.out)
	if err != nil {
		return err
	}
	s, err := c.openSweep(file, dir, f)
	if err != nil {
		return err
	}
	if l := (request.Layers{File: s.file.Run}); len(c.foreign(l)) > 0 {
		return c.runBuiltWith(cmd.Context(), c.foreign(l), l.Policy(), (&trainFlags{elsewhere: f.elsewhere}).bring(c))
	}
	if f.parallel < 1 {
		return fmt.Errorf("--parallel: %d is not a number of trials", f.parallel)
	}
	if err := s.plan(); err != nil {
		return err
	}
	if err := request.CheckOut(dir); err != nil {
		return err
	}
	release, err := request.Lock(dir)
	if err != nil {
		return err
	}
	defer release()
	if len(f.addresses) > 0 {
		room, err := s.joinCluster(cmd.Context(), f)
		if err != nil {
			return err
		}
		if f.room {
			f.parallel = room
		}
	}
	if err := s.begin(file); err != nil {
		return err
	}
	c.started = true
	return s.run(cmd.Context(), f)
}

// sweeping is a sweep with its runs.
type sweeping struct {
	c     *command
	file  *sweep.File
	dir   string
	dims  []sweep.Dim
	study *sweep.Study
	base  *request.Request // run of the first values
	train func(ctx context.Context, r *request.Request, dir string, until int64, metric string) (ended bool, err error)
	on    []string       // addresses of the cluster that trains; none trains here
	at    *clusterTrials // nil without a cluster
}

// openSweep reads what is to be searched.
func (c *command) openSweep(file, dir string, f *sweepFlags) (*sweeping, error) {
	x, err := sweep.Read(file)
	if err != nil {
		return nil, err
	}
	if x.Run, err = request.Extended(x.Run, file); err != nil {
		return nil, err
	}
	if f.trials > 0 {
		x.SetTrials(f.trials)
	}
	s := &sweeping{c: c, file: x, dir: dir, train: trainHere}
	if f.children {
		s.train = trainChild
	}
	s.on, err = sweepCluster(dir, f)
	return s, err
}

// sweepCluster returns the cluster whose workers train, if one does: that of the flag, or the one
// that a sweep was begun on.
func sweepCluster(dir string, f *sweepFlags) ([]string, error) {
	t, err := readTable(dir)
	switch {
	case err == nil && len(t.Cluster) == 0 && len(t.Trials) > 0 && len(f.addresses) > 0:
		return nil, fmt.Errorf("--cluster: the trials of %s are trained on this machine, and their checkpoints are here: leave --cluster away, or begin a sweep in another folder", dir)
	case err == nil && len(f.addresses) == 0:
		f.addresses = t.Cluster
	}
	if f.ownProgram && len(f.addresses) == 0 {
		return nil, errors.New("--own-program needs --cluster: elsewhere all trials are trained by this program")
	}
	if f.children && len(f.addresses) > 0 {
		return nil, errors.New("--cluster and --processes: give one of them; trials of a cluster are in processes of its workers")
	}
	return f.addresses, nil
}

// plan checks the space against the settings that there are, by resolving runs at its ends, and
// plans the trials.
func (s *sweeping) plan() error {
	kinds, err := s.c.set.Kinds(request.Layers{File: s.file.Run}.Value("algorithm"))
	if err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if s.dims, err = s.file.Dims(kinds); err != nil {
		return err
	}
	first := make([]string, len(s.dims))
	for i, d := range s.dims {
		first[i] = d.Ends()[0]
	}
	if s.base, err = s.request(first, 0); err != nil {
		return err
	}
	var errs []error
	for i, d := range s.dims {
		for _, value := range d.Ends()[1:] {
			point := append([]string(nil), first...)
			point[i] = value
			if _, err := s.request(point, 0); err != nil {
				errs = append(errs, err)
			}
		}
	}
	p, err := s.file.Plan(s.dims, s.base.Steps)
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	before, err := readTrials(s.dir)
	if err != nil {
		return err
	}
	s.study, err = sweep.New(p, before)
	return err
}

// request returns the run of a point, with one of the trial's seeds.
func (s *sweeping) request(point []string, seed int) (*request.Request, error) {
	l := request.Layers{File: s.file.Run}
	for i, d := range s.dims {
		a := config.Assignment{Key: d.Key, Value: point[i], Source: d.Source}
		if key, ok := strings.CutPrefix(d.Key, "set."); ok {
			a.Key = key
			l.Set = append(l.Set, a)
			continue
		}
		l.Flags = append(l.Flags, a)
	}
	if s.file.Prune.First > 0 && sweep.Evaluated(s.file.Metric) && !l.Sets("eval_every") {
		l.Flags = append(l.Flags, config.Assignment{Key: "eval_every", Value: fmt.Sprint(s.file.Prune.First), Source: "prune.first"})
	}
	r, err := s.c.set.Resolve(l)
	if err != nil {
		return nil, err
	}
	r.Seed += uint64(seed)
	return r, nil
}

// folder returns where the run of a trial is, with one of its seeds.
func (s *sweeping) folder(t *sweep.Trial, r *request.Request) string {
	dir := filepath.Join(s.dir, fmt.Sprintf("trial-%03d", t.Number))
	if s.file.Seeds > 1 {
		return filepath.Join(dir, fmt.Sprint(request.SeedPrefix, r.Seed))
	}
	return dir
}

// begin makes the folder, or refuses that of another sweep. One run is constructed to find out
// whether that works, before any starts.
func (s *sweeping) begin(file string) error {
	kept := filepath.Join(s.dir, sweepFile)
	old, err := os.ReadFile(kept)
	if err == nil && file != kept && string(old) != string(s.file.Text()) {
		return fmt.Errorf("--out: %s already holds another sweep: name another folder, or go on with that one (weft sweep %s)", s.dir, s.dir)
	}
	if len(s.study.Trials) == 0 && s.at == nil { // a cluster may have what is not here
		session, release, err := request.Prepare(context.Background(), s.base, "", nil)
		if err != nil {
			return err
		}
		release()
		if err := session.Close(); err != nil {
			return err
		}
	}
	return s.keep()
}

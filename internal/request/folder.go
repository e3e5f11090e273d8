package request

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/runner"
)

// Prepare makes the session of a new run, and once that is known to work its
// folder with its configuration.
func Prepare(ctx context.Context, r *Request, out string, w runner.Watcher) (s *runner.Session, release func(), err error) {
	job, err := r.Job()
	if err != nil {
		return nil, nil, err
	}
	job.Dir, job.Watch, job.Reading = out, w, ctx
	if s, err = runner.Prepare(job); err != nil {
		return nil, nil, err
	}
	unlock := func() {}
	release = func() {
		_ = s.Close() // done already, with its error, if the session ran
		unlock()
	}
	if out == "" {
		return s, release, nil
	}
	if unlock, err = Lock(out); err != nil {
		unlock = func() {}
		release()
		return nil, nil, err
	}
	if err = CheckOut(out); err == nil { // again, now that nobody else can come between
		err = s.SetAside()
	}
	if err == nil {
		err = r.Record(out)
	}
	if err != nil {
		release()
		err = errors.Join(err, s.Close())
	}
	return s, release, err
}

const ConfigFile = "config.yaml"

// Record writes the configuration into the run's folder, in one piece: without
// it the run could not be resumed.
func (r *Request) Record(dir string) error {
	text, err := r.YAML()
	if err != nil {
		return err
	}
	path := filepath.Join(dir, ConfigFile)
	return durable.Replace(path, text)
}

// Lock keeps other processes out of a run's folder; a file system that knows no
// locks is no reason not to train.
func Lock(dir string) (release func(), err error) {
	release, err = checkpoint.LockSoon(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return func() {}, nil
	}
	return release, err
}

// Title returns what the run is called in a sentence: its algorithm and, if it has one, its
// environment.
func (r *Request) Title() string {
	if r.Found.Env.ID == "" {
		return r.Found.Algorithm.Name
	}
	return r.Found.Algorithm.Name + " on " + r.Found.Env.ID
}

// Name returns what the run's folder is called by default, without its seed.
func (r *Request) Name() string {
	return strings.TrimSuffix(r.Found.Algorithm.Name+"-"+strings.NewReplacer("/", "_", ":", "_").Replace(r.Found.Env.ID), "-")
}

// NewFolder returns a folder under runs/ that does not exist yet.
func NewFolder(name string) string {
	dir := filepath.Join("runs", name)
	for i := 2; ; i++ {
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		dir = filepath.Join("runs", fmt.Sprintf("%s-%d", name, i))
	}
}

// Taken reports whether a folder holds a run.
func Taken(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, ConfigFile))
	return err == nil
}

// CheckOut refuses a folder that holds a run, or files that a run would overwrite. A run that never
// got to a checkpoint, such as one that failed at once, leaves its folder to the next: what it
// wrote is set aside.
func CheckOut(dir string) error {
	if dir == "" {
		return nil
	}
	if Taken(dir) {
		t, err := part.ReadTraces(dir)
		if err == nil && len(t.Checkpoints) > 0 {
			err = fmt.Errorf("--out: %s already holds a run: weft resume %s goes on with it", dir, dir)
		}
		return err
	}
	for _, name := range []string{"checkpoints", "metrics.jsonl"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return fmt.Errorf("--out: %s already holds %s, which would be overwritten", dir, name)
		}
	}
	return nil
}

// CheckFrom checks that weights come from a run.
func CheckFrom(r *Request) error {
	if r.From != "" && !Taken(r.From) {
		return fmt.Errorf("--from: %w", NoRun(r.From))
	}
	return nil
}

// RunConfig reads the configuration of a run's folder.
func RunConfig(dir string) ([]config.Assignment, error) {
	file, err := ReadFile(filepath.Join(dir, ConfigFile))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, NoRun(dir)
	}
	return file, err
}

// PopulationFile is the file in a population's folder that says what it is and how it went.
const PopulationFile = "population.json"

// MemberFolder returns the folder of a member's run in a population's folder.
func MemberFolder(dir string, member int) string {
	return filepath.Join(dir, fmt.Sprintf("member-%02d", member))
}

// RunFolder returns the folder of the run that a folder stands for: of a population's, that of the
// best member at its end; of any other, the folder itself.
func RunFolder(dir string) string {
	text, err := os.ReadFile(filepath.Join(dir, PopulationFile))
	if err != nil || Taken(dir) {
		return dir
	}
	var p struct {
		Folder string `json:"best_folder"`
	}
	if json.Unmarshal(text, &p) != nil || p.Folder == "" {
		return dir
	}
	return filepath.Join(dir, p.Folder)
}

// NoRun says why a folder is not the one of a run.
func NoRun(dir string) error {
	if seeds := SeedFolders(dir); len(seeds) > 0 {
		return fmt.Errorf("%s holds the runs of several seeds: name one of them, such as %s", dir, seeds[0])
	}
	if _, err := os.Stat(filepath.Join(dir, PopulationFile)); err == nil {
		return fmt.Errorf("%s holds a population that has not come to its end: weft resume %s goes on with it, or name one of its members, such as %s", dir, dir, MemberFolder(dir, 0))
	}
	return fmt.Errorf("%s is not a run folder: it has no %s", dir, ConfigFile)
}

// SeedFolders returns the run folders in a folder of seeds, ordered by seed.
func SeedFolders(dir string) (out []string) {
	entries, _ := os.ReadDir(dir) // that there are none is told by who looks for a run
	seed := func(path string) (uint64, bool) {
		digits, ok := strings.CutPrefix(filepath.Base(path), SeedPrefix)
		n, err := strconv.ParseUint(digits, 10, 64)
		return n, ok && err == nil
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if _, ok := seed(path); ok && Taken(path) {
			out = append(out, path)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		x, _ := seed(a)
		y, _ := seed(b)
		return cmp.Compare(x, y)
	})
	return out
}

const SeedPrefix = "seed"

// Saved resolves the configuration of a run's folder, with some settings changed.
func (s *Set) Saved(dir string, flags []config.Assignment) (*Request, error) {
	file, err := RunConfig(dir)
	if err != nil {
		return nil, err
	}
	r, err := s.Resolve(Layers{File: file, Flags: flags})
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Join(dir, ConfigFile), err)
	}
	return r, err
}

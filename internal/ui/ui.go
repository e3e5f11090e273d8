// Package ui serves a web page that shows runs: as a table, their learning curves, what differs
// between their settings, their graphs, plans, logs and films, live or past.
//
// The page is embedded in the program and asks for nothing elsewhere. Runs are named by the ids of
// the table, and their files are opened below the folders that were given, so that no request
// leaves them. Of a run without a reader only a summary is in memory: its settings, and the last
// line of its record.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
)

// Options say how runs are drawn.
type Options struct {
	// Graph returns the graph of an algorithm's loop as SVG.
	Graph func(ctx context.Context, algorithm string) ([]byte, error)
	// Plan returns the plan of the run with some settings as SVG.
	Plan func(ctx context.Context, settings []config.Assignment) ([]byte, error)
	// Edges returns the edges of the plan of the run with some settings.
	Edges func(ctx context.Context, settings []config.Assignment) ([]Edge, error)
	// Cluster returns how a cluster stands; nil if none is shown.
	Cluster func(ctx context.Context) (Cluster, error)
}

// Site is the runs of some folders.
type Site struct {
	Options
	roots []root

	mu      sync.Mutex
	runs    map[string]*run // runs, by id
	order   []string        // ids as they were found
	changes int64           // counts up with every change, from a number above those of programs before
	waiting chan struct{}   // closed at the next change
	curves  curveCache
	made    map[string]*drawing
	sweeps  sweepCache
	cluster []byte        // the cluster as JSON; nil if it was not asked yet
	scanned chan struct{} // closed when the folders were read once
	ended   chan struct{} // closed when no more events will be told
	end     sync.Once
}

// root is a folder that was given.
type root struct {
	*os.Root
	name string
}

// run describes a run by its files.
type run struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"` // path of its folder, as the user would write it
	Settings map[string]string `json:"-"`
	Steps    int64             `json:"steps"`
	Budget   int64             `json:"budget"`
	Seconds  float64           `json:"seconds"`
	Return   *float64          `json:"return"` // the last one, of episodes in training
	Eval     *float64          `json:"eval"`   // return of the last greedy evaluation in the record's tail
	Live     bool              `json:"live"`   // it wrote within the last minute and has steps to do
	Written  int64             `json:"written"`
	Trouble  string            `json:"trouble,omitempty"`
	Trial    string            `json:"trial,omitempty"` // how a trial of a sweep stands: open, finished, pruned or failed

	root    int
	dir     string // below the root
	file    []config.Assignment
	config  stamp
	metrics stamp
	change  int64
}

// stamp changes with a file.
type stamp struct {
	size int64
	at   time.Time
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.Size(), info.ModTime()} }

// deepest bounds how many folders below a given one are looked at for runs.
const deepest = 4

// New opens the folders, which must exist.
func New(folders []string, o Options) (*Site, error) {
	s := &Site{Options: o, changes: time.Now().UnixMicro(), runs: map[string]*run{}, waiting: make(chan struct{}), made: map[string]*drawing{}, scanned: make(chan struct{}), ended: make(chan struct{})}
	for _, f := range folders {
		r, err := os.OpenRoot(f)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("there is no such folder: name those that your runs are in (weft train makes runs)")
		}
		if err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("%s cannot be shown: %w", f, err)
		}
		s.roots = append(s.roots, root{r, filepath.Clean(f)})
	}
	return s, nil
}

// End ends the answers that go on: those that tell of changes.
func (s *Site) End() { s.end.Do(func() { close(s.ended) }) }

// Close closes the folders.
func (s *Site) Close() (err error) {
	s.End()
	for _, r := range s.roots {
		if e := r.Close(); err == nil {
			err = e
		}
	}
	return err
}

// Scan looks for runs, new lines and runs that are gone.
func (s *Site) Scan() {
	found := map[string]*run{}
	var order []string
	for i, r := range s.roots {
		s.walk(i, r, ".", deepest, func(x *run) {
			found[x.ID] = x
			order = append(order, x.ID)
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := len(s.runs) != len(found)
	for id, x := range found {
		if old := s.runs[id]; old == nil || old != x {
			x.change = s.changes + 1
			changed = true
		}
	}
	s.runs, s.order = found, order
	select {
	case <-s.scanned:
	default:
		close(s.scanned)
	}
	if changed {
		s.changed()
	}
}

// changed counts a change and wakes those who wait for one. It is called with the lock held.
func (s *Site) changed() {
	s.changes++
	close(s.waiting)
	s.waiting = make(chan struct{})
}

// Watch scans, and asks the cluster, at every tick until ctx is done.
func (s *Site) Watch(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		s.Scan()
		s.lookAround(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// walk calls add with the runs at and below a folder.
func (s *Site) walk(i int, r root, dir string, depth int, add func(*run)) {
	if info, err := r.Stat(path.Join(dir, request.ConfigFile)); err == nil {
		add(s.look(i, r, dir, info))
		return
	}
	f, err := r.Open(dir)
	if err != nil || depth == 0 {
		return
	}
	entries, _ := f.ReadDir(-1)
	_ = f.Close() // it was only read
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && (e.IsDir() || e.Type()&fs.ModeSymlink != 0) {
			s.walk(i, r, path.Join(dir, e.Name()), depth-1, add)
		}
	}
}

// look returns what is known of a run: what was known if its files are as they were.
func (s *Site) look(i int, r root, dir string, info fs.FileInfo) *run {
	id := fmt.Sprintf("%d:%s", i, dir)
	s.mu.Lock()
	old := s.runs[id]
	s.mu.Unlock()
	record, err := r.Stat(path.Join(dir, recordFile))
	var now stamp
	if err == nil {
		now = stampOf(record)
	}
	live := !now.at.IsZero() && time.Since(now.at) < time.Minute
	trial := s.trialOf(r, dir)
	if old != nil && old.config == stampOf(info) && old.metrics == now && old.Trial == trial && old.Live == (live && old.Steps < old.Budget && (trial == "" || trial == openTrial)) {
		return old
	}
	x := &run{ID: id, Name: filepath.ToSlash(filepath.Join(r.name, filepath.FromSlash(dir))), Trial: trial, root: i, dir: dir, config: stampOf(info), metrics: now}
	if !now.at.IsZero() {
		x.Written = now.at.Unix()
	}
	if err := x.read(r, old); err != nil {
		x.Trouble = err.Error()
	}
	x.Live = live && x.Steps < x.Budget && (trial == "" || trial == openTrial)
	return x
}

// list returns all runs in the order of the table, and the number of changes so far.
func (s *Site) list() ([]*run, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*run, len(s.order))
	for i, id := range s.order {
		out[i] = s.runs[id]
	}
	return out, s.changes
}

// find returns the runs of ids. For one that is not known it looks again, since that may have begun
// after the last scan; if it is not there then, that is an error.
func (s *Site) find(ids []string) ([]*run, error) {
	out, unknown := s.known(ids)
	if unknown != "" {
		s.Scan()
		out, unknown = s.known(ids)
	}
	if unknown != "" {
		return nil, fmt.Errorf("there is no run %q", unknown)
	}
	return out, nil
}

// known returns the runs of ids, and the first id that is not known.
func (s *Site) known(ids []string) (out []*run, unknown string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		x, ok := s.runs[id]
		if !ok {
			return nil, id
		}
		out = append(out, x)
	}
	return out, ""
}

// common returns the settings that are worth saying once: those of which more runs have the same
// value than have no value.
func common(runs []*run) map[string]string {
	count := map[string]map[string]int{}
	for _, r := range runs {
		for k, v := range r.Settings {
			if count[k] == nil {
				count[k] = map[string]int{}
			}
			count[k][v]++
		}
	}
	out := map[string]string{}
	for k, values := range count {
		most, lack := 0, len(runs)
		for _, n := range values {
			lack -= n
		}
		for _, v := range slices.Sorted(maps.Keys(values)) {
			if values[v] > max(most, lack) {
				out[k], most = v, values[v]
			}
		}
	}
	return out
}

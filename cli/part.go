package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/process"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/store"
)

// dataPlane opens this process's end of the data plane, and makes what carries out
// its parts of runs: their checkpoints are kept at a place that store.Open knows, each
// run's in a folder of its own. Without certificates it is for loopback alone.
//
// Runs may name what allow says, and write into their own folders.
func dataPlane(m machineOptions, o mesh.Options) (part.Runner, *mesh.Node, error) {
	kept, err := m.store()
	if err != nil {
		return nil, nil, err
	}
	place, err := store.Absolute(m.Store)
	if err != nil {
		return nil, nil, err
	}
	node, err := mesh.Listen(m.Listen, o)
	if err != nil {
		return nil, nil, err
	}
	return process.New(process.Config{
		Job: jobOf(m.Set, request.Confinement{Programs: m.Allow, Data: []string{place}}), Node: node, Place: place, Trace: tracedParts(m.Trace),
		Store: func(run string) (store.Store, error) { return kept.Under(run), nil },
		Files: func(run string) (string, error) { return folderIn(place, run) },
	}), node, nil
}

// folderIn makes the folder of a run, where the store has folders.
func folderIn(place, run string) (string, error) {
	if !filepath.IsAbs(place) {
		return "", request.Forbidden{Err: fmt.Errorf("--wrap: the run's files are at %s, which has no folder for recordings: leave out record and video", place)}
	}
	dir := filepath.Join(place, run)
	return dir, os.MkdirAll(dir, 0o755)
}

// jobOf returns a function that makes the job of a configuration that was submitted: the text of a
// run folder's config.yaml.
func jobOf(s *request.Set, c request.Confinement) func(text string) (runner.Job, error) {
	return func(text string) (runner.Job, error) {
		r, err := s.Requested(text)
		if err != nil {
			return runner.Job{}, err
		}
		if err := r.Confine(c); err != nil {
			return runner.Job{}, err
		}
		r.Single = true // the plan has it on one device of one worker
		return r.Job()
	}
}

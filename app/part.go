package app

import (
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/run/local"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/process"
	"github.com/weft-rl/weft/internal/run/store"
)

// partRunner carries out this process's parts of runs, whose checkpoints are under
// folders of their own in a store.
func (s *Set) partRunner(node *mesh.Node, in store.Store) part.Runner {
	return process.New(process.Config{
		Job: s.jobOf, Node: node, Store: func(run string) (store.Store, error) { return in.Under(run), nil },
	})
}

// jobOf is the job of a configuration: the text of a run folder's config.yaml.
func (s *Set) jobOf(text string) (local.Job, error) {
	file, err := config.ParseYAML([]byte(text), configFile)
	if err != nil {
		return local.Job{}, err
	}
	r, err := s.resolve(layers{file: file})
	if err != nil {
		return local.Job{}, err
	}
	return r.job()
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-rl/weft/internal/population"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/sweep"
)

// populating is a population with its runs.
type populating struct {
	c      *command
	dir    string
	layers request.Layers // of a new population
	every  int64
	study  *population.Study
	train  func(ctx context.Context, r *request.Request, dir string, how request.Again) (runner.Result, error)
	view   populationView
}

// populationRecord is a population as it is kept.
type populationRecord struct {
	*population.Study
	Folder string `json:"best_folder,omitempty"` // folder of the best state, once the population is over
}

// readPopulation reads the record of a population's folder.
func readPopulation(dir string) (*population.Study, error) {
	path := filepath.Join(dir, request.PopulationFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is not the folder of a population: it has no %s", dir, request.PopulationFile)
	}
	x := populationRecord{Study: &population.Study{}}
	if err == nil {
		err = json.Unmarshal(text, &x)
	}
	if err == nil {
		err = x.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return x.Study, nil
}

// keep writes how far the population has come.
func (s *populating) keep() error {
	x := populationRecord{Study: s.study}
	if best := s.study.Best; best != nil && s.study.Generations[best.Generation].Applied {
		rel, err := filepath.Rel(s.dir, s.place(*best))
		if err != nil {
			return err
		}
		x.Folder = rel
	}
	text, err := json.MarshalIndent(x, "", " ")
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(s.dir, request.PopulationFile), append(text, '\n'))
}

// Train implements population.World.
func (s *populating) Train(ctx context.Context, m *population.Member, until int64) (out population.Outcome, err error) {
	dir := request.MemberFolder(s.dir, m.Number)
	r, err := s.c.set.Saved(dir, nil)
	if err != nil {
		return out, err
	}
	x, err := s.train(ctx, r, dir, request.Again{Begin: m.Begin == 0, Until: until})
	if err != nil || ctx.Err() != nil {
		return out, err
	}
	rows, err := record(dir)
	if err != nil {
		return out, err
	}
	score, steps := sweep.Score(rows, s.study.Metric, until)
	if until > 0 && steps >= until && x.Steps > steps {
		return out, fmt.Errorf("the member's run was trained to step %d by itself, and its generation ends at step %d", x.Steps, steps)
	}
	return population.Outcome{Steps: x.Steps, Score: score, Weights: x.WeightsSHA256, State: x.StateSHA256}, nil
}

// Apply implements population.World. The best states are copied to the board before members that
// had none of them are overwritten, so that what is copied is always there, however often it was
// interrupted.
func (s *populating) Apply(ctx context.Context, g int) error {
	x := s.study.Generations[g]
	for _, p := range x.Board {
		if p.Generation == g {
			if err := s.adopt(ctx, request.MemberFolder(s.dir, p.Member), s.leader(p), s.study.At(p).Steps, p.Member, s.study.At(p).Point); err != nil {
				return err
			}
		}
	}
	for _, e := range x.Exploits {
		if err := s.adopt(ctx, s.place(e.From), request.MemberFolder(s.dir, e.Member), e.Steps, e.Member, e.After); err != nil {
			return err
		}
	}
	if s.study.Select == population.Tournament {
		return s.sweepBoard(x.Board)
	}
	return nil
}

// adopt copies a state into the folder of a member, or of an entry of the board that a member left,
// together with settings.
func (s *populating) adopt(ctx context.Context, from, to string, step int64, member int, point []string) error {
	file, err := request.RunConfig(request.MemberFolder(s.dir, member))
	if err != nil {
		return err
	}
	r, err := s.c.set.Resolve(request.Layers{File: file, Set: s.assign(point)})
	if err != nil {
		return err
	}
	release, err := lockNew(to)
	if err != nil {
		return err
	}
	defer release()
	if err := runner.Adopt(ctx, from, to, step, r.Seed); err != nil {
		return err
	}
	return r.Record(to)
}

// boardFolder holds the states of a tournament's board. Its name hides it from commands that look
// for runs.
const boardFolder = ".board"

// leader returns the folder of an entry of the board.
func (s *populating) leader(p population.Place) string {
	return filepath.Join(s.dir, boardFolder, fmt.Sprintf("generation-%03d-member-%02d", p.Generation, p.Member))
}

// place returns the folder that has a state, of the present generation or of the board.
func (s *populating) place(p population.Place) string {
	if s.study.Select == population.Tournament {
		return s.leader(p)
	}
	return request.MemberFolder(s.dir, p.Member)
}

// sweepBoard removes states that are not on the board any more.
func (s *populating) sweepBoard(board []population.Place) error {
	old, err := filepath.Glob(filepath.Join(s.dir, boardFolder, "generation-*"))
	for _, dir := range old {
		if !slices.ContainsFunc(board, func(p population.Place) bool { return s.leader(p) == dir }) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

// Changed implements population.World.
func (s *populating) Changed(m *population.Member) error {
	if err := s.keep(); err != nil {
		return err
	}
	s.view.changed(m)
	return nil
}

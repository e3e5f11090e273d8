package coordinator

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/program"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// ProgramsFolder is the folder of programs in the folder of runs. No run has its name.
const ProgramsFolder = ".programs"

// maxStaging is how many programs may be handed over at a time.
const maxStaging = 8

// keepPrograms prepares the folder of programs that runs bring. Those of runs that are not over
// stay there.
func (c *coordinator) keepPrograms() {
	c.staging = make(chan struct{}, maxStaging)
	c.kept = &program.Folder{Path: filepath.Join(c.Runs, ProgramsFolder), Most: c.Bounds.Program, All: c.Bounds.Programs, Keep: c.needs}
}

// needs reports whether a run that is not over brought a program.
func (c *coordinator) needs(hash string) bool {
	c.mu.Lock()
	a := c.acts
	c.mu.Unlock()
	if a == nil {
		return true
	}
	s, _ := a.news.latest()
	return slices.ContainsFunc(s.Runs, func(r core.Run) bool {
		return !r.Phase.Over() && slices.ContainsFunc(r.Programs, func(p part.Program) bool { return p.SHA256 == hash })
	})
}

// stage takes a program, and returns what it was said to be.
func (c *coordinator) stage(s protocol.Staging) (p part.Program, err error) {
	m, err := s.Begin()
	if err != nil {
		return p, err
	}
	if err := sameVersion(m.Version); err != nil {
		return p, err
	}
	if m.Program == nil {
		return p, protocol.Refusal("a message that names no program")
	}
	if err := m.Program.Check(); err != nil {
		return p, protocol.Refusal(err.Error())
	}
	p = *m.Program
	if _, err := c.acting(s.Context()); err != nil {
		return p, err
	}
	select {
	case c.staging <- struct{}{}:
		defer func() { <-c.staging }()
	default:
		return p, protocol.Refusal(fmt.Sprintf("%d programs are being handed over, and no more are taken at a time: submit again in a minute", maxStaging))
	}
	if _, err := c.kept.Find(p); err == nil {
		return p, s.Done()
	} else if !errors.Is(err, program.ErrNone) {
		return p, protocol.Refusal(err.Error())
	}
	if err := c.kept.Put(s.Context(), p, s.Reader()); err != nil {
		return p, protocol.Refusal(fmt.Sprintf("%v (--max-program and --max-programs of weft coordinator are the limits)", err))
	}
	return p, s.Done()
}

// Program sends a program to a worker.
func (c *coordinator) Program(q *protocol.Named, to protocol.Sender[protocol.Chunk]) error {
	if err := sameVersion(q.Version); err != nil {
		return err
	}
	if _, err := c.acting(to.Context()); err != nil {
		return err
	}
	if q.Program == nil {
		return protocol.Refusal("a message that names no program")
	}
	path, err := c.kept.Find(*q.Program)
	if err != nil {
		return protocol.Refusal(err.Error())
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := make([]byte, protocol.StageChunk)
	for {
		n, err := file.Read(buffer)
		if n > 0 {
			if err := to.Send(&protocol.Chunk{Tail: buffer[:n]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// staged refuses a submission whose programs are not here.
func (a *acting) staged(s protocol.Status, q *protocol.Submit) error {
	if err := part.CheckPrograms(q.Programs); err != nil {
		return err
	}
	all := q.Programs
	if old, known := find(s, q.Name); q.Resume && known && len(all) == 0 {
		all = old.Programs
	}
	for _, p := range all {
		if !a.kept.Has(p) {
			return fmt.Errorf("program %s is not kept here: it was not handed over, or was removed to make room; submit the run from its package, or with --own-program", p)
		}
	}
	return nil
}

// planProgram returns the path of the program that a run is planned with; empty if the run brought
// none.
func (a *acting) planProgram(all []part.Program) (string, error) {
	if len(all) == 0 {
		return "", nil
	}
	p := part.ProgramFor(all, part.Platform())
	if p == nil {
		return "", fmt.Errorf("the run brought no program for %s, the platform of the coordinator, which plans it", part.Platform())
	}
	return a.kept.Find(*p)
}

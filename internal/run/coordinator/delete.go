package coordinator

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// Delete forgets a run that is over, and removes its folder: in this order, so that a
// coordinator that is killed in between leaves a folder that can be deleted again.
func (c *coordinator) Delete(ctx context.Context, q *protocol.Named) (*protocol.OK, error) {
	if err := sameVersion(q.Version); err != nil {
		return nil, err
	}
	a, err := c.acting(ctx)
	if err != nil {
		return nil, err
	}
	s, _ := a.news.latest()
	run, known := find(s, q.Run)
	left, folder := a.records.left(q.Run)
	switch {
	case !known && !folder:
		return nil, unknownRun(q.Run)
	case !known:
		run = left
	case !run.Phase.Over():
		return nil, protocol.Refusal(fmt.Sprintf("run %s is %s: weft stop %s ends it first", q.Run, run.Phase, q.Run))
	}
	r := a.records.of(q.Run)
	if err := a.closed(ctx, run); err != nil {
		return nil, err
	}
	if folder {
		if err := r.hold(); err != nil { // somebody trains there
			return nil, protocol.Refusal(err.Error())
		}
	}
	ok, err := a.ask(ctx, func() core.Event { return core.DeleteAsked{Run: q.Run} })
	if err != nil {
		r.letGo()
		return nil, err
	}
	ok.Text = a.records.elsewhere(run)
	if err := a.records.remove(q.Run); err != nil {
		return nil, protocol.Refusal(fmt.Sprintf("run %s is forgotten, but its folder could not be removed: %v", q.Run, err))
	}
	return ok, nil
}

// elsewhere says where the checkpoints of a run are, if that is not its folder.
func (r *records) elsewhere(run core.Run) string {
	if run.Last == nil || run.Last.Place == "" {
		return ""
	}
	dir := filepath.Join(r.dir, run.Name)
	if _, err := os.Stat(filepath.Join(dir, run.Last.Object)); err == nil {
		return ""
	}
	return fmt.Sprintf("its checkpoints are at %s, under %s, and stay there", run.Last.Place, run.Name)
}

// remove removes the folder of a run. It is renamed first, so that another run of the name
// can begin at once and never finds half of it.
func (r *records) remove(run string) error {
	r.mu.Lock()
	x := r.all[run]
	delete(r.all, run)
	r.mu.Unlock()
	dir := filepath.Join(r.dir, run)
	gone := filepath.Join(r.dir, fmt.Sprintf(".deleted-%s-%s", run, rand.Text()))
	err := os.Rename(dir, gone)
	if x != nil {
		x.close()
		x.letGo()
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// sweep removes what was left of folders when a coordinator was killed while it removed them.
func (r *records) sweep() {
	all, _ := os.ReadDir(r.dir) // what cannot be read has nothing to be removed
	for _, x := range all {
		if strings.HasPrefix(x.Name(), ".deleted-") {
			_ = os.RemoveAll(filepath.Join(r.dir, x.Name())) // it only takes room
		}
	}
}

// Compacter is a Store whose files can be made smaller.
type Compacter interface {
	// Compact drops what is not needed any more, and returns the bytes of the files before
	// and after.
	Compact(ctx context.Context) (before, after int64, err error)
}

// Compact makes the files of the coordinator's own state smaller.
func (c *coordinator) Compact(ctx context.Context, q *protocol.Named) (*protocol.Compacted, error) {
	if err := sameVersion(q.Version); err != nil {
		return nil, err
	}
	if _, err := c.acting(ctx); err != nil {
		return nil, err
	}
	store, ok := c.Store.(Compacter)
	if !ok {
		return nil, protocol.Refusal("the coordinator's store cannot be compacted")
	}
	before, after, err := store.Compact(ctx)
	if err != nil {
		return nil, protocol.Refusal(err.Error())
	}
	return &protocol.Compacted{Before: before, After: after}, nil
}

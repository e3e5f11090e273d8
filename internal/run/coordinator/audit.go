package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/protocol"
)

// An audit says who asked for what, when and from where: a line for each call that changes
// something, refused ones too. It is in the folder of runs, so that the coordinator that takes over
// goes on with it, and only ever added to.

const (
	auditFile = ".audit.jsonl"
	auditOld  = ".audit.%d.jsonl" // the first is the newest
	auditSize = 4 << 20           // bytes of a file
	auditKept = 8                 // files before the newest
	maxWhy    = 300               // bytes of a reason
)

// audit adds lines to its file.
type audit struct {
	mu   sync.Mutex
	dir  string
	size int64 // bytes of a file; 0 is auditSize
}

// note adds a line, which is on the disk when it returns.
func (a *audit) note(e protocol.Deed) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return err
	}
	if err := a.rotate(); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(a.dir, auditFile), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// rotate begins another file when the newest is full, and removes the oldest.
func (a *audit) rotate() error {
	limit := a.size
	if limit == 0 {
		limit = auditSize
	}
	at := filepath.Join(a.dir, auditFile)
	info, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() < limit {
		return nil
	}
	if err != nil {
		return err
	}
	for i := auditKept; i > 0; i-- {
		from := at
		if i > 1 {
			from = a.old(i - 1)
		}
		if err := os.Rename(from, a.old(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (a *audit) old(i int) string { return filepath.Join(a.dir, fmt.Sprintf(auditOld, i)) }

// read returns the lines of all files, the oldest first. What is no line of an audit is left out.
func (a *audit) read(keep func(protocol.Deed) bool) (out []protocol.Deed, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := auditKept; i >= 0; i-- {
		path := filepath.Join(a.dir, auditFile)
		if i > 0 {
			path = a.old(i)
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(text) {
			var e protocol.Deed
			if json.Unmarshal(line, &e) == nil && keep(e) {
				out = append(out, e)
			}
		}
	}
	return out, nil
}

// audited is a coordinator's service that keeps an audit.
type audited struct{ *coordinator }

// did adds a line to the audit, unless the call is to be made elsewhere or later.
func (c audited) did(ctx context.Context, what, run, worker, how string, err error) {
	if protocol.Postponed(err) {
		return
	}
	who := protocol.Caller(ctx)
	e := protocol.Deed{Time: time.Now().UTC(), Who: who.Name, From: who.Address, What: what, Run: run, Worker: worker, How: how}
	if err != nil {
		why := protocol.Reason(err)
		e.Refused = why[:min(len(why), maxWhy)]
	}
	if err := c.audit.note(e); err != nil {
		c.Log.Error(fmt.Sprintf("the audit cannot be written: %v", err))
	}
}

// Submit implements control.Server.
func (c audited) Submit(ctx context.Context, q *protocol.Submit) (*protocol.OK, error) {
	ok, err := c.coordinator.Submit(ctx, q)
	what := "submit"
	if q.Resume {
		what = "resume"
	}
	c.did(ctx, what, named(q.Name), "", "", err)
	return ok, err
}

// Stage implements control.Server.
func (c audited) Stage(s protocol.Staging) error {
	p, err := c.coordinator.stage(s)
	c.did(s.Context(), "stage", "", "", p.String(), err)
	return err
}

// Stop implements control.Server.
func (c audited) Stop(ctx context.Context, q *protocol.Named) (*protocol.OK, error) {
	ok, err := c.coordinator.Stop(ctx, q)
	how := ""
	if q.Now {
		how = "now"
	}
	c.did(ctx, "stop", named(q.Run), "", how, err)
	return ok, err
}

// Drain implements control.Server.
func (c audited) Drain(ctx context.Context, q *protocol.Named) (*protocol.OK, error) {
	ok, err := c.coordinator.Drain(ctx, q)
	c.did(ctx, "drain", "", brief(strings.Join(q.Workers, " "), maxWord), "", err)
	return ok, err
}

// Delete implements control.Server.
func (c audited) Delete(ctx context.Context, q *protocol.Named) (*protocol.OK, error) {
	ok, err := c.coordinator.Delete(ctx, q)
	c.did(ctx, "delete", named(q.Run), "", "", err)
	return ok, err
}

// Compact implements control.Server.
func (c audited) Compact(ctx context.Context, q *protocol.Named) (*protocol.Compacted, error) {
	x, err := c.coordinator.Compact(ctx, q)
	c.did(ctx, "compact", "", "", "", err)
	return x, err
}

// named bounds a name that a caller gave.
func named(name string) string { return name[:min(len(name), 100)] }

// mostDeeds is how many lines of an audit are told at once: the newest.
const mostDeeds = 10_000

// Audit tells what was asked for, of one run or of all.
func (c *coordinator) Audit(ctx context.Context, q *protocol.Named) (*protocol.Deeds, error) {
	if err := sameVersion(q.Version); err != nil {
		return nil, err
	}
	if _, err := c.acting(ctx); err != nil {
		return nil, err
	}
	all, err := c.audit.read(func(e protocol.Deed) bool { return q.Run == "" || e.Run == q.Run })
	if err != nil {
		return nil, protocol.Refusal(err.Error())
	}
	return &protocol.Deeds{All: all[max(0, len(all)-mostDeeds):]}, nil
}

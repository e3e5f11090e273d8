package chaos

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// largeRecord makes the run's record large while no coordinator is there, by lines that
// nobody has acknowledged, and kills the owner: the next epoch begins by taking them back.
func (t *trial) largeRecord(ctx context.Context) (mark, error) {
	if err := t.without(ctx, t.lengthen); err != nil {
		return mark{}, err
	}
	r := t.status(ctx)
	return kill(r, t.slot(ownerOf(r))), nil
}

// loseLines kills the coordinator, and takes from the record some of the lines that came after the
// newest checkpoint, as the loss of its machine can. The epoch goes on if workers send them again;
// else the run goes back to the checkpoint.
func (t *trial) loseLines(ctx context.Context, r core.Run, pick int) (mark, error) {
	err := t.without(ctx, func(record metrics.Record) error { return t.shorten(record, pick) })
	return going(r), err
}

// without does something to the run's record while no coordinator is there, and returns
// when there is one again.
func (t *trial) without(ctx context.Context, do func(metrics.Record) error) error {
	listening := t.cluster.listening()
	t.cluster.coordinator.Fall()
	record, err := metrics.StatRecord(filepath.Join(t.cluster.runs(), t.name, "metrics.jsonl"))
	if err == nil {
		err = do(record)
	}
	t.cluster.coordinator.Return()
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience, fmt.Errorf("no coordinator is there again within %v", t.Patience))
	defer cancel()
	select {
	case <-listening:
		return err
	case <-ctx.Done():
		return errors.Join(err, context.Cause(ctx))
	}
}

// lengthen appends lines to a record.
func (t *trial) lengthen(r metrics.Record) error {
	size := t.Record
	if size == 0 {
		size = 64 << 20
	}
	row, _, err := r.Last()
	if err != nil {
		return err
	}
	row.Step, row.Iter = row.Step+1, row.Iter+1
	line, err := row.AppendJSON(nil)
	if err != nil {
		return err
	}
	chunk := bytes.Repeat(line, 1+(1<<20)/len(line))
	f, err := os.OpenFile(r.Path, os.O_WRONLY|os.O_APPEND, 0)
	for n := 0; err == nil && size > 0; size -= int64(n) {
		n, err = f.Write(chunk)
	}
	return errors.Join(err, f.Close())
}

// shorten cuts a record somewhere behind the newest checkpoint that there may be.
func (t *trial) shorten(r metrics.Record, pick int) error {
	all, err := filepath.Glob(filepath.Join(filepath.Dir(r.Path), "step-*.safetensors"))
	if err != nil || len(all) == 0 {
		return err
	}
	var step int64
	if _, err := fmt.Sscanf(filepath.Base(all[len(all)-1]), "step-%d.", &step); err != nil {
		return err
	}
	at, err := r.Find(step, true)
	if err != nil {
		return err
	}
	if at += int64(pick) % (r.Size() - at + 1); at < r.Start() {
		return nil
	}
	return os.Truncate(r.Path, at-r.Start())
}

package data_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// distant is a source whose rows have to be waited for. It counts what is read, by its first row.
type distant struct {
	data.Source
	mu     sync.Mutex
	reads  int
	broken bool
	closed bool
}

func (*distant) Distant() bool { return true }

func (d *distant) Gather(column int, rows []int64, out any) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return errors.New("it was read after it was closed")
	}
	if d.broken {
		return errors.New("the disk is gone")
	}
	d.reads++
	return d.Source.Gather(column, rows, out)
}

func (d *distant) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	return nil
}

// looped is a trainer whose iterations call a function.
type looped func(*rl.Run)

func (f looped) Train(run *rl.Run) error {
	for run.Next() {
		f(run)
	}
	return run.Err()
}

func (looped) Agent() rl.Agent { return nil }

// drawnBy returns the rows and rewards of the batches of a loop that draws twice an iteration, the
// second time of another size every iteration if uneven is set.
func drawnBy(t *testing.T, src data.Source, uneven bool) (out []float32) {
	t.Helper()
	s := rl.NewScope(algotest.Device(t), 1)
	d := data.New[replay.Transition](s, "data", src, data.Options{NStep: 2, Discount: .5})
	err := rl.Train(looped(func(run *rl.Run) {
		for i := range 2 {
			n := 7
			if uneven && i == 1 {
				n += int(run.Iter())
			}
			b := d.Sample(run.Key("sample", i), n)
			out = append(append(out, rl.Read[float32](b.Data.Reward)...), rl.Read[float32](b.Data.Next.X.Leaf(""))...)
		}
		s.AddSteps(1)
	}), rl.NewRun(s, 5, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestAhead: batches of a source that is read ahead are those of one that is not; each is read
// once, and those of the iteration behind the last as well.
func TestAhead(t *testing.T) {
	for _, uneven := range []bool{false, true} {
		far := &distant{Source: set(t)}
		if got, want := drawnBy(t, far, uneven), drawnBy(t, set(t), uneven); !slices.Equal(got, want) {
			t.Errorf("uneven %v: other batches are drawn", uneven)
		}
		const leaves = 5 // Obs, Next, Action, Reward, Terminated
		want := (5 + 1) * 2 * leaves
		if uneven { // what was read ahead had another size, and was read again
			want += 4 * leaves
		}
		if far.reads != want {
			t.Errorf("uneven %v: %d columns were read, want %d", uneven, far.reads, want)
		}
	}
}

// TestAheadFails: an error of reading ahead is the loop's when it draws the batch.
func TestAheadFails(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	far := &distant{Source: set(t)}
	d := data.New[replay.Transition](s, "data", far, data.Options{})
	err := rl.Train(looped(func(run *rl.Run) {
		d.Sample(run.Key("sample"), 3)
		far.mu.Lock()
		far.broken = run.Iter() == 1
		far.mu.Unlock()
		s.AddSteps(1)
	}), rl.NewRun(s, 5, nil))
	if err == nil || !strings.Contains(err.Error(), `data set "data": column "`) || !strings.Contains(err.Error(), "the disk is gone") {
		t.Error(err)
	}
}

package coordinator_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/internal/run/worker"
)

// in has a worker keep checkpoints in a folder, which is to be the one of all.
func in(dir string) func(*worker.Options) {
	s := store.Folder(dir)
	return func(o *worker.Options) {
		o.Shared = &worker.Shared{
			Place: dir,
			Put:   func(ctx context.Context, mark string) error { return store.Mark(ctx, s, mark) },
			Get:   func(ctx context.Context) (string, error) { return store.Marked(ctx, s) },
		}
	}
}

// TestShared refuses a worker whose store is another folder, also one that holds a copy, and says
// what to do. The others may come back to the next coordinator.
func TestShared(t *testing.T) {
	c := newCluster(t)
	one, other := t.TempDir(), t.TempDir()
	_, stop := c.coordinate("127.0.0.1:0")
	c.work("a", in(one))
	c.work("b", in(one))
	c.members(2)
	refused := func() {
		t.Helper()
		o := c.options("x")
		in(other)(&o)
		c.refused(o, other+" on h) is not the one that")
	}
	refused()
	stop()
	c.coordinate(c.address[0])
	refused() // whoever comes first
	c.members(2)
	c.work("c", in(one))
	c.members(3)
	c.submit("r", 3, 20, "")
	c.whole("r", 20)
}

// TestSharedApart: clusters with one folder of runs and one store know their own workers again,
// also after another has left its mark.
func TestSharedApart(t *testing.T) {
	one, other := newCluster(t), newCluster(t)
	store := t.TempDir()
	one.marks, other.marks, other.runs = "one", "other", one.runs
	_, stop := one.coordinate("127.0.0.1:0")
	one.work("a", in(filepath.Join(store, "one")))
	one.members(1)
	other.coordinate("127.0.0.1:0")
	other.work("x", in(filepath.Join(store, "other")))
	other.members(1)
	one.work("b", in(filepath.Join(store, "one")))
	one.members(2)
	stop()
	one.coordinate(one.address[0])
	one.members(2)
	one.work("c", in(filepath.Join(store, "one")))
	one.members(3)
}

// TestSharedAnew lets a cluster that has no workers any more have another store.
func TestSharedAnew(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	stop := c.work("a", in(t.TempDir()))
	c.members(1)
	stop()
	c.members(0)
	c.work("a", in(t.TempDir()))
	c.members(1)
}

// TestSharedUnusable tells a worker that cannot use its store why it is not let in.
func TestSharedUnusable(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	o := c.options("a")
	in("/dev/null/runs")(&o)
	c.refused(o, "worker a cannot use its --store (/dev/null/runs on h)")
	c.work("b", in(t.TempDir()))
	c.members(1)
}

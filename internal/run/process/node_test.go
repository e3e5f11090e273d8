package process_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/internal/run/process"
	"github.com/weft-rl/weft/internal/run/store"
)

// broken is a store of which something does not work on one machine.
type broken struct {
	store.Store
	write, read, list bool
}

var errStore = errors.New("input/output error")

func (b broken) Put(ctx context.Context, name string, r io.Reader, size int64) error {
	if b.write {
		return errStore
	}
	return b.Store.Put(ctx, name, r, size)
}

func (b broken) Get(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if b.read {
		return nil, 0, errStore
	}
	return b.Store.Get(ctx, name)
}

func (b broken) List(ctx context.Context) ([]string, error) {
	if b.list {
		return nil, errStore
	}
	return b.Store.List(ctx)
}

func (b broken) Under(folder string) store.Store {
	b.Store = b.Store.Under(folder)
	return b
}

// node reports whether an error says that its machine is to blame, and peer whether another process
// is.
func node(err error) bool {
	var e interface{ Node() bool }
	return errors.As(err, &e) && e.Node()
}

func peer(err error) bool {
	var e interface{ Peer() bool }
	return errors.As(err, &e) && e.Peer()
}

// TestUnable: a process that cannot use the store says that another may be able to, and the others
// that it is not their failure.
func TestUnable(t *testing.T) {
	good := parttest.NewDesk(2)
	first := newTeam(t, 2)
	a := part.Assignment{Run: "r", Epoch: 1, Config: "steps=192", Plan: planned(t, "", coarse)}
	if err := errors.Join(first.run(t.Context(), a, good)...); err != nil {
		t.Fatal(err)
	}
	last := good.Commits()[1]
	for name, b := range map[string]broken{"write": {write: true}, "read": {read: true}, "list": {list: true}, "open": {}} {
		t.Run(name, func(t *testing.T) {
			x, d := newTeam(t, 2), parttest.NewDesk(2)
			x.runners[1] = process.New(process.Config{Job: job, Node: x.nodes[1], Store: inFolder(first.folder)})
			x.runners[0] = process.New(process.Config{Job: job, Node: x.nodes[0], Store: func(run string) (store.Store, error) {
				if b == (broken{}) {
					return nil, errStore
				}
				b.Store = store.Folder(first.folder).Under(run)
				return b, nil
			}})
			a := a
			if a.Epoch = 2; b.read {
				a.From = &last
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			errs := make(chan error, 1)
			go func() {
				a := a
				a.Workers = x.workers
				errs <- x.runners[0].Run(ctx, a, d)
			}()
			b := a
			b.Workers, b.Me = x.workers, 1
			other := make(chan error, 1)
			go func() { other <- x.runners[1].Run(ctx, b, d) }()
			err := <-errs
			stop() // as a coordinator does, when it hears of it
			if !errors.Is(err, errStore) || !node(err) || peer(err) {
				t.Errorf("%v: node %v, peer %v", err, node(err), peer(err))
			}
			if err := <-other; err == nil || node(err) {
				t.Errorf("the other: %v: node %v", err, node(err))
			}
		})
	}
}

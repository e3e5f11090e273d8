package coordinator

import (
	"context"
	"errors"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// Store is where coordinators keep what must survive them, and by which they agree
// on the one that acts.
type Store interface {
	// Campaign waits until this coordinator is the one that acts. Others can then find
	// it by its address.
	Campaign(ctx context.Context, address string) (Term, error)
	// Leader is the address of the one that acts; empty if there is none.
	Leader(ctx context.Context) (string, error)
}

// Term is the time for which a coordinator acts.
type Term interface {
	// Lost is closed when another may act.
	Lost() <-chan struct{}
	// Load is all that was kept, in the order of submission, and which workers are
	// thought alive.
	Load(ctx context.Context) (runs []core.Run, alive []string, err error)
	// Save keeps a run. It fails with ErrDeposed if this is no longer the one that acts,
	// and then keeps nothing.
	Save(ctx context.Context, r core.Run) error
	// Forget gives up what is kept of a run, under the same condition.
	Forget(ctx context.Context, run string) error
	// Member records that a worker is alive, for as long as the lease is renewed.
	Member(ctx context.Context, name string) (Lease, error)
	// Resign lets others act at once.
	Resign(ctx context.Context) error
}

// Lease keeps a worker registered until it expires.
type Lease interface {
	// Renew keeps it; it fails with ErrExpired if it is over.
	Renew(ctx context.Context) error
	Release(ctx context.Context) error
}

// What a store's errors are about.
var (
	ErrDeposed = errors.New("another coordinator acts")
	ErrExpired = errors.New("the lease is over")
)

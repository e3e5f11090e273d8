package worker

import (
	"context"
	"errors"
	"time"

	"github.com/weft-rl/weft/internal/run/protocol"
)

// Shared is a worker's store as far as the check goes that all workers have the same.
type Shared struct {
	Place string                                       // its address
	Put   func(ctx context.Context, mark string) error // leaves a mark in it
	Get   func(ctx context.Context) (string, error)    // returns the mark that is there; empty if there is none
}

// looking is how long the store may take; the coordinator waits somewhat longer.
const looking = 12 * time.Second

// look leaves a mark in the worker's store, if the coordinator names one, and tells which one it
// finds there then.
func (w *worker) look(ctx context.Context, link protocol.Link, mark string) error {
	found, err := w.found(ctx, mark)
	if err != nil {
		return link.Send(&protocol.Up{Kind: protocol.KindFailed, Text: err.Error()})
	}
	w.mu.Lock()
	w.mark = found
	w.mu.Unlock()
	return link.Send(&protocol.Up{Kind: protocol.KindMark, Text: found})
}

func (w *worker) found(ctx context.Context, mark string) (string, error) {
	if w.Shared == nil {
		return "", errors.New("the worker has no store")
	}
	ctx, cancel := context.WithTimeout(ctx, looking)
	defer cancel()
	if mark != "" {
		if err := w.Shared.Put(ctx, mark); err != nil {
			return "", err
		}
	}
	return w.Shared.Get(ctx)
}

// store returns what a coordinator is told of the worker's store; nil if it is not to check it.
func (w *worker) store() *protocol.Shared {
	if w.Shared == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return &protocol.Shared{Place: w.Shared.Place, Mark: w.mark}
}

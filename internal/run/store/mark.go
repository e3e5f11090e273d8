package store

import (
	"context"
	"errors"
	"io"
	"strings"
)

// mark is the object by which workers see that they share a store. No run has its name.
const mark = ".shared"

// maxMark bounds what is read of a mark.
const maxMark = 256

// Mark leaves a text in a store, in place of the one before.
func Mark(ctx context.Context, s Store, text string) error {
	return s.Put(ctx, mark, strings.NewReader(text), int64(len(text)))
}

// Marked returns the text that was last left in a store; empty if there is none.
func Marked(ctx context.Context, s Store) (string, error) {
	r, _, err := s.Get(ctx, mark)
	if errors.Is(err, ErrNone) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(r, maxMark))
	return string(text), errors.Join(err, r.Close())
}

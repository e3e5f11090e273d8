package mesh

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/internal/run/mesh/wire"
)

// Lost is the error of an epoch that a process left without a word.
type Lost struct {
	Worker string // its name
	Err    error

	number int
	seen   bool // this process saw the loss, at its own stream to the worker
}

func (l *Lost) Error() string { return fmt.Sprintf("worker %s was lost: %v", l.Worker, l.Err) }
func (l *Lost) Unwrap() error { return l.Err }

// Peer says that the failure is another process's.
func (l *Lost) Peer() bool { return true }

// Broken returns the worker, if it is this process's stream to it that ended.
func (l *Lost) Broken() []string {
	if !l.seen {
		return nil
	}
	return []string{l.Worker}
}

// saw reports whether an error is that this process's stream to p ended.
func saw(err error, p *peer) bool {
	var l *Lost
	return errors.As(err, &l) && l.seen && l.number == p.number
}

// GaveUp is the error of an epoch that another process gave up.
type GaveUp struct {
	Worker string
	Text   string

	number int
}

func (g *GaveUp) Error() string { return fmt.Sprintf("worker %s gave up: %s", g.Worker, g.Text) }

// Peer says that the failure is another process's.
func (g *GaveUp) Peer() bool { return true }

// blame returns a failure as others are told of it.
func (s *Session) blame(err error) (frame, wire.Piece) {
	f, text := frame{kind: fail, from: s.g.Me}, err.Error()
	var l *Lost
	var g *GaveUp
	switch {
	case errors.As(err, &l):
		f.kind, f.from, text = lost, l.number, l.Err.Error()
	case errors.As(err, &g):
		f.from, text = g.number, g.Text
	}
	return f, wire.Piece{Bytes: []byte(text[:min(len(text), mostText)])}
}

// reason returns the failure that a peer reported.
func (s *Session) reason(f frame, text string) error {
	switch {
	case f.from >= len(s.g.Workers):
		return fmt.Errorf("worker %d of %d failed", f.from, len(s.g.Workers))
	case f.kind == lost:
		return &Lost{Worker: s.g.Workers[f.from].Name, Err: errors.New(text), number: f.from}
	}
	return &GaveUp{s.g.Workers[f.from].Name, text, f.from}
}

const mostText = 8 << 10

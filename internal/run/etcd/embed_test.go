package etcd

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// Data that another coordinator uses is told of, and not waited for.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := Embed(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "another coordinator uses the data in "+dir) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := open(t, dir).Close(); err != nil {
		t.Error(err)
	}
}

// An etcd that has kept much gives its disk space back, and keeps what counts.
func TestCompact(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	term, err := s.Campaign(t.Context(), "here")
	if err != nil {
		t.Fatal(err)
	}
	run := core.Run{Name: "r", Phase: core.Done, Config: strings.Repeat("x", 200<<10)}
	for i := range 40 {
		run.Epoch = int64(i)
		if err := term.Save(t.Context(), run); err != nil {
			t.Fatal(err)
		}
	}
	before, after, err := s.Compact(t.Context())
	if err != nil || before < 4<<20 || after > 1<<20 {
		t.Errorf("%d bytes became %d: %v", before, after, err)
	}
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
	runs, _, err := term.Load(t.Context())
	if err != nil || len(runs) != 1 || runs[0].Epoch != 39 {
		t.Errorf("%+v, %v", runs, err)
	}
	run.Epoch++
	if err := term.Save(t.Context(), run); err != nil {
		t.Error(err)
	}
}

// What would be etcd's end is neither a panic nor that of the process.
func TestWarden(t *testing.T) {
	for name, say := range map[string]func(*zap.Logger){
		"fatal": func(l *zap.Logger) { l.Fatal("failed to save", zap.Int("n", 1), zap.Error(fs.ErrInvalid)) },
		"panic": func(l *zap.Logger) { l.Panic("failed to save", zap.Error(fs.ErrInvalid)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := &Store{warden: newWarden("data")}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				say(s.warden.logger().With(zap.String("more", "")))
				t.Error("it went on")
			}()
			<-ended
			<-s.Broken()
			if err := s.Err(); !errors.Is(err, fs.ErrInvalid) || !strings.Contains(err.Error(), "etcd on data cannot go on: failed to save: ") {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	w := newWarden("data")
	go w.logger().Panic("no space")
	if <-w.broken; !strings.Contains(w.err.Error(), "no space; its disk may be full") {
		t.Error(w.err)
	}
}

package etcd

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/zap"
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

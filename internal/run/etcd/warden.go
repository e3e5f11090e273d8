package etcd

import (
	"fmt"
	"runtime"
	"sync"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// warden watches an embedded etcd. Where its disk is full or its data is damaged, etcd
// writes a line to its log and panics or ends the process, from whatever goroutine. The
// warden keeps the line and ends only that goroutine; whoever uses the etcd is told.
type warden struct {
	dir    string
	once   sync.Once
	err    error         // set before broken is closed
	broken chan struct{} // closed when the etcd cannot go on
}

func newWarden(dir string) *warden { return &warden{dir: dir, broken: make(chan struct{})} }

// logger returns a logger that drops everything but fatal entries, which it hands to the warden.
func (w *warden) logger() *zap.Logger {
	return zap.New(zapcore.NewNopCore(), zap.WithFatalHook(w), zap.WithPanicHook(w))
}

// OnWrite implements zapcore.CheckWriteHook. It does not return.
func (w *warden) OnWrite(line *zapcore.CheckedEntry, fields []zapcore.Field) {
	w.once.Do(func() {
		w.err = fmt.Errorf("etcd on %s cannot go on: %s%w", w.dir, line.Message, reason(fields))
		close(w.broken)
	})
	runtime.Goexit()
}

// reason returns the error that a line of a log is about.
func reason(fields []zapcore.Field) error {
	for _, f := range fields {
		if err, ok := f.Interface.(error); ok && f.Type == zapcore.ErrorType {
			return fmt.Errorf(": %w", err)
		}
	}
	return fmt.Errorf("; its disk may be full or its data damaged")
}

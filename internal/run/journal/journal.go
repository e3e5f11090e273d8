// Package journal makes the logs of processes of a cluster: lines with time, level, and which run
// and worker they are about.
package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/weft-rl/weft/internal/plain"
)

// The attributes that lines are found by.
const (
	Run    = "run"
	Worker = "worker"
)

// Format is how lines look.
type Format string

// The formats of a journal.
const (
	Text   Format = "text"   // for people: time, level, process and sentence
	JSON   Format = "json"   // for what collects logs: an object a line, with time, level, msg, process, run and worker
	Events Format = "events" // for the program that started the process: {"event":"note","text":...}
)

// Parse returns the format of a name that a user may give.
func Parse(name string) (Format, error) {
	if f := Format(name); f == Text || f == JSON {
		return f, nil
	}
	return "", fmt.Errorf("%q is no format of logs: %s or %s", name, Text, JSON)
}

// New returns the logger of a process, such as a coordinator, that writes to w. What cannot be
// written is lost.
func New(w io.Writer, f Format, process string) *slog.Logger {
	if f == JSON {
		return slog.New(slog.NewJSONHandler(&whole{w: w}, &slog.HandlerOptions{ReplaceAttr: safe})).With("process", process)
	}
	return slog.New(&handler{out: &whole{w: w}, format: f, process: process})
}

// safe has what other processes wrote move no terminal.
func safe(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindString {
		a.Value = slog.StringValue(plain.Text(a.Value.String()))
	}
	return a
}

// Discard returns a logger that writes nothing.
func Discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// whole writes one line at a time.
type whole struct {
	mu sync.Mutex
	w  io.Writer
}

func (w *whole) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// handler writes lines as text or events.
type handler struct {
	out     *whole
	format  Format
	process string
	attrs   []slog.Attr
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(more []slog.Attr) slog.Handler {
	x := *h
	x.attrs = append(slices.Clip(h.attrs), more...)
	return &x
}

// WithGroup implements slog.Handler. Nobody groups.
func (h *handler) WithGroup(string) slog.Handler { return h }

// Handle implements slog.Handler.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	text := h.sentence(r)
	if h.format == Events {
		line, err := json.Marshal(struct {
			Event string `json:"event"`
			Text  string `json:"text"`
		}{"note", text})
		if err == nil {
			_, err = h.out.Write(append(line, '\n'))
		}
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %-5s %s: %s\n", r.Time.Format("2006-01-02T15:04:05.000Z07:00"), r.Level, h.process, strings.ReplaceAll(text, "\n", "\n\t"))
	_, err := h.out.Write(b.Bytes())
	return err
}

// sentence returns what a record says, with the run and the worker that it is about before it and
// anything else behind.
func (h *handler) sentence(r slog.Record) string {
	var before, behind strings.Builder
	put := func(a slog.Attr) bool {
		switch a.Key {
		case Run, Worker:
			fmt.Fprintf(&before, "%s %s: ", a.Key, a.Value)
		default:
			fmt.Fprintf(&behind, " %s=%v", a.Key, a.Value)
		}
		return true
	}
	for _, a := range h.attrs {
		put(a)
	}
	r.Attrs(put)
	return plain.Text(before.String() + r.Message + behind.String())
}

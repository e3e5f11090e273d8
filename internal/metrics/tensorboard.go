package metrics

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// TensorBoard is a sink that writes an event file, which TensorBoard shows
// under Scalars. TensorBoard keeps numbers as float32.
type TensorBoard struct {
	out journal
	now func() time.Time
}

// OpenTensorBoard begins a new event file in the folder dir, which is made if
// it is absent, for a run that goes on after resumeStep. Points of later steps
// in the folder's older files are forgotten by TensorBoard, since those
// iterations will be done again. A resumeStep below zero starts anew: all
// older points are forgotten.
func OpenTensorBoard(dir string, resumeStep int64) (*TensorBoard, error) {
	return openTensorBoard(dir, resumeStep, time.Now)
}

func openTensorBoard(dir string, resumeStep int64, now func() time.Time) (*TensorBoard, error) {
	f, err := createEventFile(dir, now())
	if err != nil {
		return nil, fmt.Errorf("open event file: %w", err)
	}
	t := &TensorBoard{out: journal{file: f}, now: now}
	begin := frame(nil, fileVersionEvent(seconds(now())))
	begin = frame(begin, sessionStartEvent(seconds(now()), max(0, resumeStep+1)))
	if err := t.out.append(begin); err != nil {
		f.Close()
		return nil, fmt.Errorf("open event file: %w", err)
	}
	return t, nil
}

// Write appends the row's values as scalars at the row's step.
func (t *TensorBoard) Write(r Row) error {
	err := r.check()
	if err == nil {
		err = t.out.append(frame(nil, scalarsEvent(seconds(t.now()), r.Step, r.Values)))
	}
	if err != nil {
		return fmt.Errorf("write event file: %w", err)
	}
	return nil
}

// Text appends a text, in Markdown, which TensorBoard shows under Text: the
// place for a run's configuration.
func (t *TensorBoard) Text(step int64, tag, text string) error {
	if err := t.out.append(frame(nil, textEvent(seconds(t.now()), step, tag, text))); err != nil {
		return fmt.Errorf("write event file: %w", err)
	}
	return nil
}

// Close makes the file durable and closes it.
func (t *TensorBoard) Close() error { return t.out.close() }

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / float64(time.Second) }

const eventFilePrefix = "events.out.tfevents."

// eventFiles counts the event files of this process, the last part of a name.
var eventFiles atomic.Int64

// createEventFile creates a file whose name sorts after all of the folder's
// event files: TensorBoard reads them in the order of their names, and would
// read a resumed run before what it resumes if the clock had been set back or
// the second were the same.
func createEventFile(dir string, now time.Time) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	newest, err := newestEventFile(dir)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	name := fmt.Sprintf("%s%010d.%s.%d.%d", eventFilePrefix, max(now.Unix(), newest+1), host, os.Getpid(), eventFiles.Add(1)-1)
	return os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// newestEventFile returns the latest time in the folder's names of event files.
func newestEventFile(dir string) (int64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	newest := int64(math.MinInt64)
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), eventFilePrefix)
		digits, _, _ := strings.Cut(rest, ".")
		if at, err := strconv.ParseInt(digits, 10, 64); ok && err == nil {
			newest = max(newest, at)
		}
	}
	return newest, nil
}

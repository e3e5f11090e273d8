package part

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/internal/run/durable"
)

// The files of a run's folder, as single processes and coordinators write them.
const (
	configFile  = "config.yaml"
	recordFiles = "metrics*.jsonl" // the newest, and those that were closed
)

// Traces list the files of a run's folder whose loss would matter.
type Traces struct {
	Checkpoints []string // names of files that are, or were, checkpoints
	Lines       int      // lines of the record
}

// None reports whether a run has left nothing: it was configured and never got to work.
func (t Traces) None() bool { return len(t.Checkpoints) == 0 && t.Lines == 0 }

// ReadTraces looks for what a run has left in its folder. It reads no checkpoint: a damaged one
// counts as well. One that committed.json names counts wherever it is.
func ReadTraces(dir string) (t Traces, err error) {
	for _, pattern := range []string{"checkpoints/step-*.safetensors", "checkpoints/best.safetensors", "step-*.epoch-*.safetensors", "best.epoch-*.safetensors"} {
		found, err := filepath.Glob(filepath.Join(escaped(dir), filepath.FromSlash(pattern)))
		if err != nil {
			return t, err
		}
		t.Checkpoints = append(t.Checkpoints, found...)
	}
	c, err := ReadCommitted(dir)
	if err == nil && c.Last != nil && len(t.Checkpoints) == 0 {
		t.Checkpoints = append(t.Checkpoints, c.Last.Object)
	}
	if err != nil { // it says something, which cannot be read
		t.Checkpoints = append(t.Checkpoints, filepath.Join(dir, committedFile))
	}
	files, err := filepath.Glob(filepath.Join(escaped(dir), recordFiles))
	for _, path := range files {
		n, wrong := countLines(path)
		t.Lines, err = t.Lines+n, errors.Join(err, wrong)
	}
	return t, err
}

// HasObjects reports whether a run's folder has checkpoints that a cluster wrote there, of steps or
// the best.
func HasObjects(dir string) bool {
	for _, pattern := range []string{"step-*.epoch-*.safetensors", "best.epoch-*.safetensors"} {
		if found, _ := filepath.Glob(filepath.Join(escaped(dir), pattern)); len(found) > 0 {
			return true
		}
	}
	return false
}

// escaped returns a folder's path as the beginning of a pattern.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func countLines(path string) (n int, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buffer := make([]byte, 64<<10)
	for {
		got, err := f.Read(buffer)
		n += strings.Count(string(buffer[:got]), "\n")
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

const asidePrefix = "replaced-"

// SetAside moves what a run has left into a new folder within the run's own, for a run that begins
// there again, and returns the new folder; "" if there are no Traces. The configuration is copied.
// Files named in also are moved as well, if they are there. Nothing is removed.
func SetAside(dir string, also ...string) (to string, err error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	t, err := ReadTraces(dir)
	if err != nil {
		return "", err
	}
	var names []string
	last, some := 0, !t.None()
	for _, e := range all {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), asidePrefix)); err == nil && strings.HasPrefix(e.Name(), asidePrefix) {
			last = max(last, n)
		}
		if isTrace(e.Name(), also) {
			names = append(names, e.Name())
			some = some || slices.Contains(also, e.Name())
		}
	}
	if !some {
		return "", nil
	}
	to = filepath.Join(dir, fmt.Sprintf("%s%d", asidePrefix, last+1))
	if err := os.Mkdir(to, 0o755); err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(dir, configFile))
	if err == nil {
		err = durable.Replace(filepath.Join(to, configFile), text)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, name := range names {
		if err == nil {
			err = os.Rename(filepath.Join(dir, name), filepath.Join(to, name))
		}
	}
	return to, errors.Join(err, durable.Names(to), durable.Names(dir))
}

// Own reports whether a name in a run's folder is that of a file which the run itself writes.
func Own(name string) bool {
	aside, _ := filepath.Match(asidePrefix+"*", name)
	return aside || name == configFile || isTrace(name, nil)
}

// isTrace reports whether a file of a run's folder is moved aside when the run begins again.
func isTrace(name string, also []string) bool {
	for _, pattern := range []string{
		recordFiles, "events.out.tfevents.*", "checkpoints", "log.txt", committedFile, "epoch.json",
		"step-*.safetensors", "best.epoch-*.safetensors", "profile.json",
	} {
		if ok, _ := filepath.Match(pattern, name); ok {
			return true
		}
	}
	return slices.Contains(also, name)
}

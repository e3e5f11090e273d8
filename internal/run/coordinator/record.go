package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/part"
)

// A run's folder has its configuration, its record and its log. Lines of the record are
// put where they belong by their offset in the epoch, so that lines which are sent again
// are not there twice; an epoch begins with the lines up to its checkpoint, in a new file,
// so that a coordinator that no longer acts writes into one that nobody reads.
const (
	configFile = "config.yaml"
	idFile     = ".submission" // whose folder it is
	recordFile = "metrics.jsonl"
	epochFile  = "epoch.json" // which epoch the record is at, and where that begins in it
	logFile    = "log.txt"
)

// records are the runs' folders.
type records struct {
	dir string
	mu  sync.Mutex
	all map[string]*record
}

// of is the folder of a run.
func (r *records) of(run string) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]*record{}
	}
	if r.all[run] == nil {
		r.all[run] = &record{dir: filepath.Join(r.dir, run)}
	}
	return r.all[run]
}

// known is the folder of a run that was heard of by others than the sender of a name.
func (r *records) known(run string) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.all[run]; x != nil || !names.MatchString(run) {
		return x
	}
	x := &record{dir: filepath.Join(r.dir, run)}
	if _, err := os.Stat(filepath.Join(x.dir, epochFile)); err != nil {
		return nil
	}
	if r.all == nil {
		r.all = map[string]*record{}
	}
	r.all[run] = x
	return x
}

func (r *records) log(run string) string { return filepath.Join(r.dir, run, logFile) }

// begin makes the folder of a new run. The same submission may come again, also to the coordinator after one that was
// killed while it did this.
func (r *records) begin(run, id, config string) error {
	dir := filepath.Join(r.dir, run)
	old, err := os.ReadFile(filepath.Join(dir, idFile))
	same := err == nil && string(old) == id
	_, err = os.Lstat(filepath.Join(dir, configFile))
	there := err == nil
	if there && same {
		return r.of(run).hold()
	}
	other := fmt.Errorf("%s holds another run: choose another name with --out", dir)
	if there {
		if t, err := part.ReadTraces(dir); err != nil || len(t.Checkpoints) > 0 {
			return errors.Join(err, other)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	switch fresh, err := r.of(run).take(); {
	case err != nil:
		return err
	case there && !fresh: // it was submitted just now
		return other
	}
	if there { // a run that never got to a checkpoint
		if err := r.of(run).setAside(); err != nil {
			return err
		}
	}
	return errors.Join(durable.Replace(filepath.Join(dir, idFile), []byte(id)), durable.Replace(filepath.Join(dir, configFile), []byte(config)))
}

func (r *records) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.all {
		x.close()
		x.letGo()
	}
}

// record is the folder of one run.
type record struct {
	dir  string
	mu   sync.Mutex
	at   epoch
	file *os.File
	over bool            // the run is: nothing is recorded before another epoch begins
	kept *part.Committed // what it says of where the run can go on, once that was written

	release func() // of the lock on it; nil while it is not held
}

type epoch struct {
	Epoch int64 `json:"epoch"`
	Base  int64 `json:"base"`
}

// rewind begins an epoch: what was recorded after a step is taken back, and so is the
// evaluation of the step itself if that is to be done again.
func (r *record) rewind(number, step int64, evaluated bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut()
	r.over = false
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	// A coordinator may be killed between any two of these, and the next one is told again what was not acknowledged of the
	// epoch before: it must not look for the place of that in what is left of the record.
	if err := r.mark(epoch{number, unknown}); err != nil {
		return err
	}
	path := filepath.Join(r.dir, recordFile)
	if err := metrics.RewindJSONL(path, step, evaluated); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return r.mark(epoch{number, info.Size()})
}

// unknown is the base of an epoch that nobody has been given a part of yet.
const unknown = -1

// mark writes down which epoch the record is at.
func (r *record) mark(e epoch) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(r.dir, epochFile), text)
}

// open takes up the epoch that the folder says it is at.
func (r *record) open() error {
	if r.file != nil {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(r.dir, epochFile))
	if err == nil {
		err = json.Unmarshal(text, &r.at)
	}
	if err == nil {
		r.file, err = os.OpenFile(filepath.Join(r.dir, recordFile), os.O_RDWR, 0)
	}
	return err
}

// write puts lines of an epoch where they belong. Those of another epoch are dropped.
func (r *record) write(number, offset int64, lines []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil
	}
	err := r.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the record is where the coordinator was that began the epoch
	}
	if err != nil {
		return err
	}
	if number != r.at.Epoch {
		return nil
	}
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	if offset < 0 || r.at.Base+offset > info.Size() {
		return fmt.Errorf("lines at %d of a record that has %d bytes of the epoch", offset, info.Size()-r.at.Base)
	}
	_, err = r.file.WriteAt(lines, r.at.Base+offset)
	return err
}

// sync makes what was written durable.
func (r *record) sync() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	return r.file.Sync()
}

// say adds a line to the log.
func (r *record) say(text string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	path := filepath.Join(r.dir, logFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(r.dir, 0o755); err == nil {
			f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), strings.ReplaceAll(text, "\n", "\n\t"))
	return errors.Join(err, f.Close())
}

func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut()
}

func (r *record) shut() {
	if r.file != nil {
		_ = r.file.Close() // what counts was synced before it was said to count
		r.file = nil
	}
}

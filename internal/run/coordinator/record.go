package coordinator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/part"
)

// A run's folder has its configuration, its record and its log. Lines of the record are
// put where they belong by their offset in the epoch, so that lines which are sent again
// are not there twice; an epoch begins with the lines up to its checkpoint, in a new file,
// so that a coordinator that no longer acts writes into one that nobody reads. A file that
// has become large is closed (metrics.Record), so that no more than that is ever copied.
const (
	configFile = "config.yaml"
	idFile     = ".submission" // id of the submission whose folder it is
	recordFile = "metrics.jsonl"
	epochFile  = "epoch.json" // epoch that the record is at, where that begins in it, and the closed files' sizes
	logFile    = "log.txt"
)

// records are the runs' folders.
type records struct {
	dir  string
	most int64 // bytes of a run's log; 0 is no bound
	mu   sync.Mutex
	all  map[string]*record
}

// of returns the folder of a run.
func (r *records) of(run string) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]*record{}
	}
	if r.all[run] == nil {
		r.all[run] = &record{dir: filepath.Join(r.dir, run), most: r.most}
	}
	return r.all[run]
}

// known returns the folder of a run that the coordinator has, or nil: a name that only a
// worker spoke of has none.
func (r *records) known(run string) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[run]
}

func (r *records) log(run string) string { return filepath.Join(r.dir, run, logFile) }

// begin makes the folder of a new run. The same submission may come again, also to the coordinator
// after one that was killed while it did this.
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
	if err := durable.Names(r.dir); err != nil {
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
	if err := os.Remove(filepath.Join(dir, epochFile)); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a run that is not here any more
		return err
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
	most int64 // bytes of its log; 0 is no bound
	full bool  // the log is, and says so
	lane lane  // queue of the loop's work on the folder
	bad  int64 // epoch whose beginning failed; of the lane

	syncing sync.Mutex // one at a time

	mu    sync.Mutex
	at    epoch
	file  *os.File       // the newest of the record; nil while it is closed
	lines metrics.Record // while file is open
	board board          // likewise
	limit int64          // maximum of bytes in a file; 0 is the default
	end   int64          // bytes written to file since it was opened
	dirty bool           // lines were written and not synced
	over  bool           // the run is: nothing is recorded before another epoch begins
	// cutting says that another epoch is about to begin: lines are of those before.
	cutting bool
	kept    *part.Committed // place to go on from, as committed.json has it; nil before that was written

	release func() // releases the lock on it; nil while it is not held
}

type epoch struct {
	Epoch  int64   `json:"epoch"`
	Base   int64   `json:"base"`             // position in the record at which it begins
	Closed []int64 `json:"closed,omitempty"` // bytes of the record's closed segments
}

// gap is the error of a record that lacks lines which no worker will send again. The run goes back
// to its last checkpoint for them.
type gap struct{ error }

func (g gap) Unwrap() error { return g.error }

func (r *record) path() string { return filepath.Join(r.dir, recordFile) }

// rewind begins an epoch: what was recorded after a step is taken back, and so is the
// evaluation of the step itself if that is to be done again. Size is how much of the
// record that leaves; 0 is unknown. It fails if the record has lost lines before.
func (r *record) rewind(number, step int64, evaluated bool, size int64) error {
	r.mu.Lock()
	r.shut()
	r.over, r.cutting = false, true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.cutting = false
		r.mu.Unlock()
	}()
	return r.cut(number, step, evaluated, size)
}

// cut does the work of rewind. It has the files to itself, and whoever speaks of the epoch
// before is not kept waiting for the disk: a worker of which nothing is heard is given up.
func (r *record) cut(number, step int64, evaluated bool, size int64) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return err
	}
	if known, err := r.index(); err == nil && known.Epoch > number {
		return fmt.Errorf("epoch %d cannot begin: another coordinator has begun epoch %d", number, known.Epoch)
	}
	lines, at, err := r.place(step, evaluated, size)
	if err != nil {
		return err
	}
	// A coordinator may be killed between any two of these, and the next one is told again what was
	// not acknowledged of the epoch before: it must not look for the place of that in what is left
	// of the record.
	if err := r.mark(epoch{number, unknown, lines.Before(at)}); err != nil {
		return err
	}
	lines.Limit = r.limit
	if err := lines.Cut(at); err != nil {
		return err
	}
	return r.mark(epoch{number, lines.Size(), lines.Closed})
}

// place returns the record as it is, and where the lines of a checkpoint end in it.
func (r *record) place(step int64, evaluated bool, size int64) (lines metrics.Record, at int64, err error) {
	if step < 0 {
		lines, err = metrics.Anew(r.path())
		return lines, 0, err
	}
	lines, err = metrics.StatRecord(r.path())
	if err != nil {
		return lines, 0, err
	}
	if size == 0 {
		at, err = lines.Find(step, evaluated)
		return lines, at, err
	}
	known, err := r.index()
	if err == nil {
		err = (metrics.Record{Path: r.path(), Closed: known.Closed}).CheckClosed(size)
	}
	if err == nil {
		err = lines.Trim(known.Closed)
	}
	elsewhere := errors.Is(err, fs.ErrNotExist) && lines.Size() == 0
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = lines.Complete(size, step)
	}
	if err != nil && elsewhere {
		err = fmt.Errorf("%w, unless the coordinators do not share their folder of runs (--runs)", err)
	}
	return lines, size, err
}

// unknown is the base of an epoch before its first part is assigned.
const unknown = -1

// mark writes down which epoch the record is at.
func (r *record) mark(e epoch) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(r.dir, epochFile), text)
}

// index reads the index of the record.
func (r *record) index() (e epoch, err error) {
	text, err := os.ReadFile(filepath.Join(r.dir, epochFile))
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err == nil && slices.ContainsFunc(e.Closed, func(n int64) bool { return n < 0 || n > 1<<50 }) {
		err = fmt.Errorf("%s: it makes no sense", filepath.Join(r.dir, epochFile))
	}
	return e, err
}

// open takes up the epoch that the folder says it is at.
func (r *record) open() (err error) {
	if r.file != nil {
		return nil
	}
	if r.at, err = r.index(); err != nil || r.at.Base < 0 { // nobody has a part of it yet
		return err
	}
	lines, err := metrics.StatRecord(r.path())
	if err != nil {
		return err
	}
	if n := len(r.at.Closed); len(lines.Closed) > n { // a coordinator was killed while it closed a file
		r.at.Closed = append(slices.Clip(r.at.Closed), lines.Closed[n:]...)
		f, err := os.OpenFile(r.path(), os.O_RDWR|os.O_CREATE, 0o644)
		if err == nil {
			err = errors.Join(f.Close(), r.mark(r.at))
		}
		if err != nil {
			return err
		}
	}
	if r.file, err = os.OpenFile(r.path(), os.O_RDWR, 0); err != nil {
		return err
	}
	lines.Closed, lines.Limit = r.at.Closed, r.limit
	r.lines, r.end, r.dirty = lines, 0, true // what another coordinator wrote may not be on the disk
	return nil
}

// write puts lines of an epoch where they belong. Those of another epoch are dropped.
// Lines before which others are missing are a gap.
func (r *record) write(number, offset int64, lines []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.cutting {
		return nil
	}
	err := r.open()
	if errors.Is(err, fs.ErrNotExist) {
		return gap{fmt.Errorf("%s is gone, or is not shared with the coordinator before this one: %w", r.dir, err)}
	}
	if err != nil || number != r.at.Epoch {
		return err
	}
	if r.file == nil {
		return gap{fmt.Errorf("lines of epoch %d, in which no part was assigned", number)}
	}
	if err := r.grown(); err != nil {
		return err
	}
	at, start := r.at.Base+offset, r.lines.Start()
	if offset < 0 || offset > r.lines.Size()-r.at.Base {
		return gap{fmt.Errorf("lines at byte %d of the epoch, and %s has %d bytes of it", offset, r.path(), r.lines.Size()-r.at.Base)}
	}
	if at < start { // what was sent again is in a closed file
		lines = lines[min(int64(len(lines)), start-at):]
		at = start
	}
	if len(lines) == 0 {
		return nil
	}
	fresh := lines[min(int64(len(lines)), max(0, r.lines.Open-(at-start))):]
	n, err := r.file.WriteAt(lines, at-start)
	if err == nil {
		r.board.add(r.dir, fresh)
	}
	r.end = max(r.end, at-start+int64(n))
	r.lines.Open, r.dirty = max(r.lines.Open, r.end), true
	return err
}

// read returns the lines that the record has now, and a function that closes its files. Lines that
// are written meanwhile are not among them.
func (r *record) read() (lines io.Reader, closeAll func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := metrics.StatRecord(r.path())
	if err != nil {
		return nil, nil, err
	}
	var parts []io.Reader
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			_ = f.Close() // it was only read
		}
	}
	for i, size := range append(slices.Clone(all.Closed), all.Open) {
		f, err := os.Open(all.Segment(i))
		if errors.Is(err, fs.ErrNotExist) { // no line was written yet
			continue
		}
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		files, parts = append(files, f), append(parts, io.LimitReader(f, size))
	}
	return io.MultiReader(parts...), closeAll, nil
}

// grown reports a gap if the file has become shorter than it was.
func (r *record) grown() error {
	info, err := r.file.Stat()
	if err == nil && info.Size() < r.lines.Open {
		err = gap{fmt.Errorf("%s has %d bytes, and had %d: lines are lost", r.path(), info.Size(), r.lines.Open)}
	}
	return err
}

// sync makes what was written durable, and closes a file that has become large. It fails
// with os.ErrClosed if the epoch ended meanwhile. Lines are written while it waits for
// the disk.
func (r *record) sync() error {
	r.syncing.Lock()
	defer r.syncing.Unlock()
	r.mu.Lock()
	file, dirty := r.file, r.dirty
	r.dirty = false
	r.mu.Unlock()
	if file == nil || !dirty {
		return nil
	}
	if err := file.Sync(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != file || !r.lines.Full() || r.end < r.lines.Open { // what another wrote may have to be written again
		return nil
	}
	return r.rotate()
}

// rotate closes the newest file and begins another, unless the file ends within a line.
func (r *record) rotate() error {
	var last [1]byte
	if _, err := r.file.ReadAt(last[:], r.lines.Open-1); err != nil || last[0] != '\n' {
		return err
	}
	if err := r.mine(); err != nil {
		return err
	}
	if known, err := r.index(); err != nil || known.Epoch != r.at.Epoch || !slices.Equal(known.Closed, r.at.Closed) {
		return errors.Join(err, errors.New("another coordinator writes the record"))
	}
	if err := r.file.Sync(); err != nil {
		return err
	}
	r.shut() // not every system renames an open file
	if err := r.lines.Rotate(); err != nil {
		return err
	}
	r.at.Closed = r.lines.Closed
	if err := r.mark(r.at); err != nil {
		return err
	}
	return r.open()
}

// mine reports a gap if the newest file is not the one that was written.
func (r *record) mine() error {
	if err := r.grown(); err != nil {
		return err
	}
	if err := metrics.Same(r.file, r.path()); err != nil {
		return gap{err}
	}
	return nil
}

// commit returns the position in the record at which the lines of a checkpoint end: m says
// how many bytes of the epoch's lines that are, or 0. The lines must be synced. Lines that
// are not there any more are a gap.
func (r *record) commit(number int64, m part.Manifest) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checked(number); err != nil || r.file == nil || number != r.at.Epoch {
		return 0, err
	}
	switch has := r.lines.Size() - r.at.Base; {
	case m.Record == 0:
		return r.lines.Find(m.Step, m.Evaluated)
	case m.Record < 0 || m.Record > has:
		return 0, gap{fmt.Errorf("a checkpoint with %d bytes of the epoch's lines, and %s has %d", m.Record, r.path(), has)}
	}
	return r.at.Base + m.Record, nil
}

// checked reports a gap if the newest file of an epoch's record is not as it was written.
func (r *record) checked(number int64) error {
	if r.over || r.cutting {
		return nil
	}
	err := r.open() // nothing may have been written yet
	if errors.Is(err, fs.ErrNotExist) {
		return gap{fmt.Errorf("%s is gone: %w", r.dir, err)}
	}
	if err != nil || number != r.at.Epoch || r.file == nil {
		return err
	}
	return r.mine()
}

// whole reports a gap if any file of an epoch's record is not as it was written. Total is how many
// bytes of lines the epoch has in all, if that is known; what is there beyond them, as another
// coordinator may have left it, is removed.
func (r *record) whole(number, total int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checked(number); err != nil || r.file == nil || number != r.at.Epoch {
		return err
	}
	if err := r.lines.Check(r.lines.Size()); err != nil {
		return gap{err}
	}
	has, keep := r.lines.Size()-r.at.Base, r.at.Base+total-r.lines.Start()
	switch {
	case total > has:
		return gap{fmt.Errorf("%s has %d bytes of the epoch's %d: lines are lost", r.path(), has, total)}
	case total == 0 || total == has || keep < 0:
		return nil
	}
	r.lines.Open = keep
	return errors.Join(r.file.Truncate(keep), r.file.Sync())
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
	if info, e := f.Stat(); r.most > 0 && (r.full || e == nil && info.Size()+int64(len(text)) > r.most) {
		if r.full {
			return f.Close()
		}
		r.full, text = true, fmt.Sprintf("nothing more is written here: the log may have %d bytes (--max-log of weft coordinator)", r.most)
	}
	_, err = fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), strings.ReplaceAll(plain.Text(text), "\n", "\n\t"))
	return errors.Join(err, f.Close())
}

func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut()
}

func (r *record) shut() {
	r.board.close()
	if r.file != nil {
		_ = r.file.Close() // what counts was synced before it was said to count
		r.file = nil
	}
}

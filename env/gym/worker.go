package gym

import (
	"embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"
)

// scripts are the worker's side.
//
//go:embed worker/*.py
var scripts embed.FS

// boot returns what the interpreter is started with, and modules what it then imports.
func boot() (code string, modules map[string]string, err error) {
	files, err := scripts.ReadDir("worker")
	modules = map[string]string{}
	for _, f := range files {
		text, err := scripts.ReadFile(path.Join("worker", f.Name()))
		if err != nil {
			return "", nil, err
		}
		modules["weft_"+strings.TrimSuffix(f.Name(), ".py")] = string(text)
	}
	return modules["weft_boot"], modules, err
}

// worker is a Python process with some of a batch's environments. Its methods are
// for one goroutine.
type worker struct {
	index       int
	first, rows int // rows of the batch
	global      int // index of its first environment
	timeout     time.Duration

	cmd      *exec.Cmd
	to, from int // descriptors
	said     tail
	fresh    bool  // it has not done a step yet
	brisk    bool  // its last answer was not waited for long
	failures int   // one after another, without a step between them
	ended    error // why it is not running
}

// spawner starts processes on a thread that lives as long as they do: on Linux a
// child is killed when the thread that started it ends, not only with the process.
type spawner struct {
	ask  chan *exec.Cmd
	done chan error
}

func newSpawner() *spawner {
	s := &spawner{make(chan *exec.Cmd), make(chan error)}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.done)
		for cmd := range s.ask {
			s.done <- cmd.Start()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	s.ask <- cmd
	return <-s.done
}

func (s *spawner) close() {
	close(s.ask)
	<-s.done
}

// interpreter finds Python.
func interpreter(given string) (string, error) {
	name := given
	if name == "" {
		name = os.Getenv("WEFT_PYTHON")
	}
	if name == "" {
		name = "python3"
	}
	found, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return "", fmt.Errorf("there is no Python interpreter %s: install Python 3.10 or later, or name one with --python", name)
	}
	return found, nil
}

// start runs the process; it answers nothing yet.
func (w *worker) start(s *spawner, python string, memory *os.File, show bool) error {
	code, modules, err := boot()
	if err != nil {
		return err
	}
	to, in, err := pipe(1)
	if err != nil {
		return err
	}
	defer in.Close()
	from, out, err := pipe(0)
	if err != nil {
		return errors.Join(err, closeFD(to))
	}
	defer out.Close()
	w.said = tail{}
	if show {
		w.said.also = os.Stderr
	}
	cmd := exec.Command(python, "-c", code)
	cmd.ExtraFiles = []*os.File{in, out, memory}
	cmd.Stdout, cmd.Stderr = &w.said, &w.said
	cmd.Env = environment(os.Environ())
	cmd.SysProcAttr = attributes()
	cmd.WaitDelay = time.Second
	if err := s.start(cmd); err != nil {
		return errors.Join(fmt.Errorf("starting %s: %w", python, err), closeFD(to), closeFD(from))
	}
	w.cmd, w.to, w.from, w.fresh, w.ended = cmd, to, from, true, nil
	return w.send(modules)
}

// environment returns the environment variables of workers. There are many workers, so each is to
// use one thread; the order of Python's sets must not depend on the process.
func environment(own []string) []string {
	out := []string{"PYTHONHASHSEED=0", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1", "PYGAME_HIDE_SUPPORT_PROMPT=1"}
	return append(append(out, own...), "PYTHONUNBUFFERED=1")
}

// begin has it do one step; finish waits until it is done.
func (w *worker) begin() error {
	if err := writeFull(w.to, stepMessage, time.Now().Add(w.timeout)); err != nil {
		return w.broken(err)
	}
	return nil
}

var stepMessage = []byte("s")

func (w *worker) finish(deadline time.Time) error {
	var b [1]byte
	begin := time.Now()
	if !w.brisk || !peek(w.from, b[:], begin.Add(eager)) {
		if err := readFull(w.from, b[:], deadline); err != nil {
			return w.broken(err)
		}
	}
	w.brisk = time.Since(begin) < eager
	if b[0] == 'k' {
		w.fresh, w.failures = false, 0
		return nil
	}
	return w.complaint(b[0], deadline)
}

// send sends a message that is not a step.
func (w *worker) send(message any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return w.frame('j', data)
}

func (w *worker) frame(kind byte, data []byte) error {
	if int64(len(data)) > math.MaxUint32 {
		return fmt.Errorf("a message to %s of %d bytes is over the limit of %d: use more workers", w.span(), len(data), math.MaxUint32)
	}
	head := binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	deadline := time.Now().Add(max(w.timeout, starting))
	for _, part := range [][]byte{head, data} {
		if err := writeFull(w.to, part, deadline); err != nil {
			return w.broken(err)
		}
	}
	return nil
}

// starting is how long everything but a step may take at least: imports do take
// their time.
const starting = time.Minute

// Bounds of what a worker may send. What it shows goes through shared memory.
const (
	maxAnswer = 64 << 20 // most bytes of JSON: the bounds of every number of a space are the most of it
	stateRoom = 64 << 20 // bytes for an environment's state, beside what it shows
	stateRows = 64       // copies of what it shows in its state, such as frames that it keeps
	maxSide   = 1 << 14  // longest side of a picture, in points
	maxShared = 1 << 36  // most bytes of shared memory, which is taken when it is written
)

// receive reads the answer to a message into reply.
func (w *worker) receive(reply any) error {
	deadline := time.Now().Add(max(w.timeout, starting))
	var kind [1]byte
	if err := readFull(w.from, kind[:], deadline); err != nil {
		return w.broken(err)
	}
	if kind[0] != 'j' {
		return w.complaint(kind[0], deadline)
	}
	data, err := w.body(deadline, 0, maxAnswer)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, reply); err != nil {
		return w.senseless(fmt.Sprintf("an answer that is not understood: %v", err))
	}
	return nil
}

// body reads what a worker announces the size of, which must be within bounds.
func (w *worker) body(deadline time.Time, least, most int) ([]byte, error) {
	var head [4]byte
	if err := readFull(w.from, head[:], deadline); err != nil {
		return nil, w.broken(err)
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n < int64(least) || n > int64(most) {
		return nil, w.senseless(fmt.Sprintf("an answer of %d bytes, where %d to %d are expected", n, least, most))
	}
	var data []byte
	for len(data) < int(n) { // so that there is memory only for what has come
		at := len(data)
		data = slices.Grow(data, min(int(n)-at, max(at, 1<<20)))
		data = data[:min(int(n), cap(data))]
		if err := readFull(w.from, data[at:], deadline); err != nil {
			return nil, w.broken(err)
		}
	}
	return data, nil
}

// bytes reads what belongs to the answer before it, which said how much that is.
func (w *worker) bytes(n int) ([]byte, error) {
	deadline := time.Now().Add(max(w.timeout, starting))
	var kind [1]byte
	if err := readFull(w.from, kind[:], deadline); err != nil {
		return nil, w.broken(err)
	}
	if kind[0] != 'b' {
		return nil, w.complaint(kind[0], deadline)
	}
	return w.body(deadline, n, n)
}

// hangUp asks the process to end.
func (w *worker) hangUp() {
	if w.cmd != nil && w.to >= 0 {
		_ = closeFD(w.to)
		w.to = -1
	}
}

// stop lets the process end, or ends it, and waits for it.
func (w *worker) stop(patience time.Duration) {
	if w.cmd == nil {
		return
	}
	w.hangUp()
	// Its end of the pipe is closed when it ends. Until it has been waited for, its
	// number is nobody else's, and what it started can be ended with it.
	rest, deadline := make([]byte, kept), time.Now().Add(patience)
	for readFull(w.from, rest, deadline) == nil {
	}
	killGroup(w.cmd.Process.Pid)
	w.ended = w.cmd.Wait()
	_ = closeFD(w.from)
	w.cmd = nil
}

// tail keeps the end of what a process says.
type tail struct {
	text []byte
	also io.Writer
}

const kept = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if n := len(t.text); n > kept {
		t.text = append(t.text[:0], t.text[n-kept:]...)
	}
	if t.also != nil {
		_, _ = t.also.Write(p)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(string(t.text)) }

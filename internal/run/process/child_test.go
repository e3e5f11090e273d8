package process_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/internal/run/process"
)

// Real processes: the test's own binary, which speaks lines of JSON with the test.

const (
	childStore   = "WEFT_TEST_STORE"   // folder of the child's store
	childSilence = "WEFT_TEST_SILENCE" // after which a child takes a peer for lost
)

// word is a message between a child and the test.
type word struct {
	Address  string           `json:",omitempty"` // the child's first word
	Assign   *part.Assignment `json:",omitempty"` // the test's
	Ready    bool             `json:",omitempty"` // the child's, and the test's when all are
	Commit   *part.Manifest   `json:",omitempty"` // the child's, which waits for an Ok
	Ok       bool             `json:",omitempty"`
	Progress *part.Progress   `json:",omitempty"`
	Lines    []byte           `json:",omitempty"`
	Done     bool             `json:",omitempty"` // the child's last
	Err      string           `json:",omitempty"`
}

// pipe is a child's reporter: everything goes to its standard output.
type pipe struct {
	mu  sync.Mutex
	out *json.Encoder
	in  *json.Decoder
}

func (p *pipe) say(w word) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.out.Encode(w) // a test that is gone hears nothing
}

func (p *pipe) ask(w word) error {
	p.say(w)
	var answer word
	return p.in.Decode(&answer)
}

func (p *pipe) Ready(context.Context) error                     { return p.ask(word{Ready: true}) }
func (p *pipe) Commit(_ context.Context, m part.Manifest) error { return p.ask(word{Commit: &m}) }
func (p *pipe) Progress(x part.Progress)                        { p.say(word{Progress: &x}) }
func (p *pipe) Record(_ context.Context, lines []byte) error    { p.say(word{Lines: lines}); return nil }
func (p *pipe) Note(string)                                     {}
func (p *pipe) Quiet([]string)                                  {}
func (p *pipe) Halted() <-chan struct{}                         { return nil }

// child returns the main function of a worker process.
func child() int {
	p := &pipe{out: json.NewEncoder(os.Stdout), in: json.NewDecoder(bufio.NewReader(os.Stdin))}
	silence, err := time.ParseDuration(os.Getenv(childSilence))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	node, err := mesh.Listen("127.0.0.1:0", mesh.Options{Secret: "secret", Silence: silence})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer node.Close()
	p.say(word{Address: node.Address()})
	var w word
	if err := p.in.Decode(&w); err != nil || w.Assign == nil {
		return 1
	}
	r := process.New(process.Config{Job: job, Node: node, Store: inFolder(os.Getenv(childStore))})
	end := word{Done: true}
	if err := r.Run(context.Background(), *w.Assign, p); err != nil {
		end.Err = err.Error()
	}
	p.say(end)
	return 0
}

// worker is a child as the test sees it.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
	at  string
}

func start(t testing.TB, folder string) *worker {
	t.Helper()
	w := &worker{cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), childStore+"="+folder)
	w.cmd.Stderr = os.Stderr
	in, err := w.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it may be gone
		_ = w.cmd.Wait()
	})
	w.in, w.out = in, json.NewDecoder(bufio.NewReader(out))
	var first word
	if err := w.out.Decode(&first); err != nil {
		t.Fatal(err)
	}
	w.at = first.Address
	return w
}

// serve answers a child until it is done, for a desk.
func (w *worker) serve(ctx context.Context, a part.Assignment, d *parttest.Desk) error {
	say := json.NewEncoder(w.in)
	if err := say.Encode(word{Assign: &a}); err != nil {
		return err
	}
	for {
		var x word
		if err := w.out.Decode(&x); err != nil {
			return fmt.Errorf("the process ended: %w", err)
		}
		var err error
		switch {
		case x.Ready:
			err = d.Ready(ctx)
		case x.Commit != nil:
			err = d.Commit(ctx, *x.Commit)
		case x.Progress != nil:
			d.Progress(*x.Progress)
			continue
		case x.Lines != nil:
			_ = d.Record(ctx, x.Lines)
			continue
		case x.Done && x.Err != "":
			return errors.New(x.Err)
		case x.Done:
			return nil
		}
		if err != nil {
			return err
		}
		if err := say.Encode(word{Ok: true}); err != nil {
			return fmt.Errorf("the process ended: %w", err)
		}
	}
}

// epoch carries an assignment out by new processes; begun is given them. The victim,
// unless it is -1, is killed when all others have ended.
func epoch(t testing.TB, a part.Assignment, d *parttest.Desk, n int, folder string, victim int, begun func([]*worker)) []error {
	t.Helper()
	var all []*worker
	for i := range n {
		w := start(t, folder)
		all = append(all, w)
		a.Workers = append(a.Workers, part.Worker{Name: fmt.Sprint("w", i), Data: w.at, Host: "here"})
	}
	begun(all)
	errs := make([]error, n)
	var others, last sync.WaitGroup
	for i, w := range all {
		group := &others
		if i == victim {
			group = &last
		}
		group.Go(func() {
			mine := a
			mine.Me = i
			errs[i] = w.serve(t.Context(), mine, d)
		})
	}
	others.Wait()
	if victim >= 0 {
		_ = all[victim].cmd.Process.Kill() // it may be gone
	}
	last.Wait()
	return errs
}

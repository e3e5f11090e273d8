package worker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fresh() *running {
	ctx, cancel := context.WithCancel(context.Background())
	return newRunning(ctx, cancel, part.Assignment{Run: "r", Epoch: 2}, &post{news: make(chan struct{}, 1)})
}

// kinds returns what would be sent now.
func (m *mail) kinds() (out []protocol.Kind) {
	for u := m.next(); u != nil; u = m.next() {
		out = append(out, u.Kind)
	}
	return out
}

func equal(t *testing.T, got []protocol.Kind, want ...protocol.Kind) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// What was not acknowledged is sent again by the next connection, in order.
func TestMail(t *testing.T) {
	p := fresh()
	if err := p.Record(t.Context(), []byte("a\n")); err != nil {
		t.Fatal(err)
	}
	p.Note("n")
	done := make(chan error)
	go func() { done <- p.Commit(t.Context(), part.Manifest{Step: 3}) }()
	<-p.mail.news
	for p.mail.length() < 3 {
		<-p.mail.news
	}
	equal(t, p.mail.kinds(), protocol.KindRecord, protocol.KindNote, protocol.KindCommit)
	p.mail.acknowledge(2, "")
	equal(t, p.mail.kinds())
	p.mail.again()
	equal(t, p.mail.kinds(), protocol.KindRecord, protocol.KindCommit)
	p.mail.acknowledge(3, "the epoch is over")
	if err := <-done; err == nil || err.Error() != "the epoch is over" {
		t.Error(err)
	}
	p.mail.acknowledge(99, "")
}

func (m *mail) length() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue)
}

// Lines wait when nobody takes them, and a part that is given up waits no more.
func TestBounded(t *testing.T) {
	p := fresh()
	lines := make([]byte, 4*maxBytes)
	done := make(chan error)
	go func() { done <- p.Record(t.Context(), lines) }()
	var got int
	for got < len(lines)/2 { // as much as is taken is made room for
		u := p.mail.next()
		if u == nil {
			<-p.mail.news
			continue
		}
		if u.Offset != int64(got) {
			t.Fatalf("lines at %d, want %d", u.Offset, got)
		}
		got += len(u.Tail)
		p.mail.acknowledge(u.Seq, "")
	}
	for !p.mail.full() {
		<-p.mail.news
	}
	p.abort()
	if err := <-done; !errors.Is(err, errAborted) {
		t.Error(err)
	}
	if p.doing() != nil {
		t.Error("it would be gone on with")
	}
	if err := p.Commit(t.Context(), part.Manifest{}); !errors.Is(err, errAborted) {
		t.Error(err)
	}
	if err := p.Ready(t.Context()); !errors.Is(err, errAborted) {
		t.Error(err)
	}
}

type told struct{ permanent, peer bool }

func (told) Error() string { return "told" }

func (e told) Permanent() bool { return e.permanent }

func (e told) Peer() bool { return e.peer }

// A failure that has much to say is told in short, and as a whole where it goes to the log.
func TestLongFailure(t *testing.T) {
	p := fresh()
	text := strings.Repeat("x", 20<<20)
	p.carryOut(does(func(context.Context, part.Reporter) error { return errors.New(text) }))
	note, failed := p.mail.next(), p.mail.next()
	if note.Kind != protocol.KindNote || len(note.Text) < part.MostReason || len(note.Text) > protocol.MaxMessage/2 {
		t.Errorf("%s of %d bytes", note.Kind, len(note.Text))
	}
	p.mail.acknowledge(note.Seq, "")
	p.mail.acknowledge(failed.Seq, "")
	if d := p.doing(); failed.Kind != protocol.KindFailed || failed.Text != part.Brief(text) || d.Error != failed.Text {
		t.Errorf("%s of %d bytes, and %d", failed.Kind, len(failed.Text), len(d.Error))
	}
}

// What ends a part while it waits for the coordinator is its failure: whose it is must not be lost,
// or the same loss of a peer, twice, would be taken for the algorithm's own.
func TestCause(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(told{peer: true})
	p := fresh()
	for name, waits := range map[string]func() error{
		"ready":  func() error { return p.Ready(ctx) },
		"commit": func() error { return p.Commit(ctx, part.Manifest{}) },
		"record": func() error { return p.Record(ctx, make([]byte, 2*maxBytes)) },
	} {
		if err := waits(); !part.FailureOf(err).Peer {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type does func(ctx context.Context, r part.Reporter) error

func (d does) Run(ctx context.Context, _ part.Assignment, r part.Reporter) error { return d(ctx, r) }

// How a part ends is told, whatever ends it. A new coordinator hears of it with the rest of what
// was not acknowledged, the lines of its record before: one that took the run for done would drop
// them.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		run        does
		kind       protocol.Kind
		user, peer bool
	}{
		"done":  {func(context.Context, part.Reporter) error { return nil }, protocol.KindDone, false, false},
		"error": {func(context.Context, part.Reporter) error { return errors.New("x") }, protocol.KindFailed, false, false},
		"user":  {func(context.Context, part.Reporter) error { return told{true, false} }, protocol.KindFailed, true, false},
		"peer":  {func(context.Context, part.Reporter) error { return told{false, true} }, protocol.KindFailed, false, true},
		"panic": {func(context.Context, part.Reporter) error { panic("x") }, protocol.KindFailed, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := fresh()
			p.carryOut(c.run)
			u := p.mail.next()
			if u == nil || u.Kind != c.kind || u.User != c.user || u.Peer != c.peer || u.Run != "r" || u.Epoch != 2 {
				t.Errorf("%+v", u)
			}
			if d := p.doing(); d.Done || d.Error != "" {
				t.Errorf("before all that came before is acknowledged: %+v", d)
			}
			p.mail.acknowledge(u.Seq, "")
			if d := p.doing(); d.Done != (c.kind == protocol.KindDone) || d.User != c.user || d.Peer != c.peer {
				t.Errorf("%+v", d)
			}
		})
	}
}

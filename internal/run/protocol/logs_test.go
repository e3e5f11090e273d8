package protocol

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/gate"
)

// forgetful is a coordinator that stops to act in the midst of a log, as often as it is to.
type forgetful struct {
	Server
	mu    sync.Mutex
	stops int
}

func (f *forgetful) Logs(_ *Named, to Sender[Chunk]) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, text := range []string{"one\ntwo\n", "three\n"}[:2-min(1, f.stops)] {
		if err := to.Send(&Chunk{Tail: []byte(text)}); err != nil {
			return err
		}
	}
	if f.stops--; f.stops >= 0 {
		return Idle("it has just stopped acting")
	}
	return to.Send(&Chunk{Tail: []byte("four\n")})
}

// TestLogs: a log is written once and to its end, though the coordinator is replaced meanwhile;
// however long it was followed before, the next one is waited for.
func TestLogs(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(&forgetful{stops: 1}, gate.New(nil, nil))
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(l) }) // to the end of the test
	defer serving.Wait()
	defer server.Stop()
	c := Client{Addresses: []string{l.Addr().String()}, Patience: time.Nanosecond}
	var got strings.Builder
	if err := c.Logs(t.Context(), "run", true, &got); err != nil || got.String() != "one\ntwo\nthree\nfour\n" {
		t.Errorf("%q, %v", got.String(), err)
	}
}

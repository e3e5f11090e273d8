package kubernetes

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/launchtest"
	"github.com/weft-rl/weft/internal/run/certs"
)

func TestMain(m *testing.M) {
	launchtest.Main()
	os.Exit(m.Run())
}

// startPods starts the processes of a job's pods within this one, and returns their hub.
func startPods(t *testing.T, names ...string) (*hub, []context.CancelFunc) {
	t.Helper()
	config, err := certs.OfSecret("a secret", "job", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", config)
	if err != nil {
		t.Fatal(err)
	}
	h := newHub("job", 1+len(names))
	var all sync.WaitGroup
	all.Go(func() { h.serve(l) })
	ends := make([]context.CancelFunc, len(names))
	for i, name := range names {
		var ctx context.Context
		ctx, ends[i] = context.WithCancel(context.Background())
		a := &agent{hello: hello{Job: "job", Index: i + 1, Node: name}, ip: "127.0.0.1", join: l.Addr().String(), tls: config, now: func(bool) {}}
		all.Go(func() { _ = a.serve(ctx) }) // it ends with the test
	}
	t.Cleanup(func() {
		for _, end := range ends {
			end()
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		all.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := h.gathered(ctx, len(names)); err != nil {
		t.Fatal(err)
	}
	return h, ends
}

// TestLauncher: clusters whose members are in several pods do what clusters of a launcher do.
func TestLauncher(t *testing.T) {
	h, _ := startPods(t, "n2", "n3", "n4")
	launchtest.Test(t, launcher{hub: h, ip: "127.0.0.1"})
}

// TestLeave: a pod that is told to leave is drained once, after a moment, and ends with its worker.
func TestLeave(t *testing.T) {
	h, ends := startPods(t, "n2")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.seats[1].launch(t.Context(), start{Line: []string{program, "worker", "x", "127.0.0.1:9", "it runs", "--x"}, Env: []string{"WEFT_LAUNCHTEST=1"}})
	if err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(r.tail.String(), "it runs") {
		time.Sleep(time.Millisecond)
	}
	ends[0]()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	drained := 0
	h.drains(ctx, func(slot int) {
		if drained++; slot != 1 {
			t.Errorf("slot %d is drained", slot)
		}
		h.seats[1].tell(r, message{Ask: true}) // as the coordinator has the worker leave
		if _, err := r.wait(); err != nil {
			t.Error(err)
		}
		if err := h.await(ctx, func() bool { return h.seats[1].pod == nil }); err != nil {
			t.Errorf("the pod does not end: %v", err)
		}
		cancel()
	})
	if drained != 1 {
		t.Errorf("drained %d times", drained)
	}
}

// TestStrangers: whoever does not know the secret, or is no pod of the job, is not let in.
func TestStrangers(t *testing.T) {
	h, _ := startPods(t, "n2")
	before := h.seats[1].pod
	at := before.conn.LocalAddr().String()
	for secret, hi := range map[string]hello{"another": {"job", 1, "x"}, "a secret": {"job2", 1, "x"}} {
		config, err := certs.OfSecret(secret, "job", "127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := tls.Dial("tcp", at, config)
		if err != nil {
			continue
		}
		l := newLink(conn)
		l.say(message{Hello: &hi})
		if _, err := l.hear(); err == nil {
			t.Errorf("%s: it was let in", secret)
		}
		_ = conn.Close()
	}
	if conn, err := net.Dial("tcp", at); err == nil {
		l := newLink(conn)
		l.say(message{Hello: &hello{"job", 1, "x"}})
		if _, err := l.hear(); err == nil {
			t.Error("it was let in without TLS")
		}
		_ = conn.Close()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seats[1].pod != before {
		t.Error("the pod's place was taken")
	}
}

// TestAt: arguments have the address of the pod that a process runs in.
func TestAt(t *testing.T) {
	for ip, want := range map[string]string{"10.0.0.1": "10.0.0.1:7702", "fd00::1": "[fd00::1]:7702"} {
		if got := at(launch.Task{Args: []string{"--listen", "{pod}:7702"}}, ip).Args[1]; got != want {
			t.Errorf("%s: %s", ip, got)
		}
	}
}

// TestTooMany: more workers than pods are refused.
func TestTooMany(t *testing.T) {
	_, err := launcher{hub: newHub("job", 1), ip: "127.0.0.1"}.Launch(t.Context(), launch.Spec{Workers: make([]launch.Task, 2)})
	if err == nil || !strings.Contains(err.Error(), "2 workers are more than the 1 pods") {
		t.Error(err)
	}
}

// Package launchtest shows that a launcher does what launchers promise. It starts clusters of
// processes that do nothing but answer who they are; the program of these is the test's own, whose
// TestMain calls Main first.
package launchtest

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/launch"
)

// limit bounds everything that is waited for, on a busy machine.
const limit = time.Minute

// Test tests a launcher.
func Test(t *testing.T, l launch.Launcher) {
	for name, test := range map[string]func(*testing.T, launch.Launcher){
		"joined": joined, "again": again, "coordinator": coordinatorAgain, "leave": leave, "tail": tail,
		"unsteady": unsteady, "unable": unable, "interrupted": interrupted, "outlives": outlives,
	} {
		t.Run(name, func(t *testing.T) { test(t, l) })
	}
}

// spec returns a cluster of so many workers. Further arguments are of the workers.
func spec(t *testing.T, workers int, args ...string) launch.Spec {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := launch.Spec{
		Program: program, Env: []string{variable + "=1"}, Dir: t.TempDir(),
		Coordinator: launch.Task{Name: "coordinator", Args: []string{"coordinator", launch.Listen}},
	}
	for i := range workers {
		name := string(rune('a' + i))
		s.Workers = append(s.Workers, launch.Task{Name: name, Args: append([]string{"worker", name, launch.Join}, args...)})
	}
	return s
}

// start launches a cluster, which is stopped with the test.
func start(t *testing.T, l launch.Launcher, s launch.Spec) launch.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c, err := l.Launch(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, c) })
	return c
}

// stop stops a cluster, and sees that no coordinator answers any more.
func stop(t *testing.T, c launch.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := c.Stop(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("not stopped: %v, %v", err, ctx.Err())
	}
	for _, m := range c.Members() {
		if m.State().Running {
			t.Errorf("%s runs though the cluster was stopped", m.Name())
		}
	}
	if _, err := ask(c.Address(), "who"); err == nil {
		t.Error("the coordinator answers though the cluster was stopped")
	}
}

// ask sends the coordinator a line, and returns its answer.
func ask(address, line string) (string, error) {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return "", err
	}
	return exchange(conn, line)
}

// await waits until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	over := time.After(limit)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-over:
			t.Fatalf("%s: not within %v", what, limit)
		case <-ticker.C:
		}
	}
}

// present reports whether just these workers have joined.
func present(c launch.Cluster, names ...string) func() bool {
	return func() bool {
		got, err := ask(c.Address(), "who")
		return err == nil && slices.Equal(strings.Fields(got), names)
	}
}

// joined: the coordinator is at the address that is told, and all workers are told that one.
func joined(t *testing.T, l launch.Launcher) {
	c := start(t, l, spec(t, 3))
	await(t, "all join", present(c, "a", "b", "c"))
	var names []string
	for _, m := range c.Members() {
		names = append(names, m.Name())
		if s := m.State(); !s.Running || s.Starts != 1 {
			t.Errorf("%s: %+v", m.Name(), s)
		}
	}
	if !slices.Equal(names, []string{"coordinator", "a", "b", "c"}) {
		t.Errorf("members %q", names)
	}
}

// again: a worker that ends is started again.
func again(t *testing.T, l launch.Launcher) {
	c := start(t, l, spec(t, 2))
	await(t, "all join", present(c, "a", "b"))
	changed := c.Members()[2].Changed()
	if _, err := ask(c.Address(), "end b"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	case <-time.After(limit):
		t.Error("nobody is told that it ended")
	}
	await(t, "it comes back", func() bool { return c.Members()[2].State() == launch.State{Running: true, Starts: 2} })
	await(t, "it joins again", present(c, "a", "b"))
	if s := c.Members()[1].State(); s.Starts != 1 {
		t.Errorf("the other one was started %d times", s.Starts)
	}
}

// coordinatorAgain: a coordinator that ends is started again, at the same address.
func coordinatorAgain(t *testing.T, l launch.Launcher) {
	c := start(t, l, spec(t, 1))
	await(t, "it joins", present(c, "a"))
	at := c.Address()
	_, _ = ask(at, "die") // it does not answer
	await(t, "it comes back", func() bool { return c.Members()[0].State() == launch.State{Running: true, Starts: 2} })
	await(t, "the worker finds it", present(c, "a"))
	if c.Address() != at {
		t.Errorf("at %s, and before at %s", c.Address(), at)
	}
}

// leave: a process that is to leave ends, and comes back when it may, not before. To return from an
// absence that has not begun yet is no leave to return from the next one.
func leave(t *testing.T, l launch.Launcher) {
	c := start(t, l, spec(t, 2))
	await(t, "all join", present(c, "a", "b"))
	m, other := c.Members()[1], c.Members()[2]
	m.Return()
	for i := range 2 {
		m.Leave()
		await(t, "it leaves", func() bool { return !m.State().Running })
		if _, err := ask(c.Address(), "end b"); err != nil {
			t.Fatal(err)
		}
		await(t, "the other one is back", func() bool { return other.State() == launch.State{Running: true, Starts: i + 2} })
		await(t, "it is missed", present(c, "b"))
		if s := m.State(); s.Running || s.Starts != i+1 {
			t.Errorf("it returned by itself: %+v", s)
		}
		m.Return()
		await(t, "it returns", func() bool { return m.State() == launch.State{Running: true, Starts: i + 2} })
		await(t, "all join again", present(c, "a", "b"))
	}
}

// tail: what a process writes to standard error can be read.
func tail(t *testing.T, l launch.Launcher) {
	c := start(t, l, spec(t, 1, "a sentence of a worker's"))
	await(t, "it joins", present(c, "a"))
	await(t, "its words", func() bool { return strings.Contains(c.Members()[1].Tail(), "a sentence of a worker's") })
}

// unsteady: a process that never stays alive is given up, with its reason, and the others go on.
func unsteady(t *testing.T, l launch.Launcher) {
	s := spec(t, 2)
	s.Workers[1].Args = []string{"fail", "a reason to fail"}
	c := start(t, l, s)
	select {
	case err := <-c.Failed():
		var u launch.Unsteady
		if !errors.As(err, &u) || u.Member != "b" || !strings.Contains(err.Error(), "a reason to fail") {
			t.Errorf("%v", err)
		}
	case <-time.After(limit):
		t.Error("it is not told")
	}
	await(t, "the other one joins", present(c, "a"))
}

// unable: a cluster whose coordinator does not start is an error that says why.
func unable(t *testing.T, l launch.Launcher) {
	s := spec(t, 1)
	s.Coordinator.Args = []string{"fail", "no coordinator here"}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if c, err := l.Launch(ctx, s); err == nil || c != nil || !strings.Contains(err.Error(), "no coordinator here") {
		t.Errorf("%v, %v", c, err)
	}
}

// interrupted: a launch that is interrupted ends, with the reason.
func interrupted(t *testing.T, l launch.Launcher) {
	s := spec(t, 1)
	s.Coordinator.Args = []string{"silent"}
	why := errors.New("the context ends early")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, why)
	defer cancel()
	if _, err := l.Launch(ctx, s); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// outlives: a cluster does not end with the context that it was launched with.
func outlives(t *testing.T, l launch.Launcher) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c, err := l.Launch(ctx, spec(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, c)
	await(t, "it joins", present(c, "a"))
	cancel()
	if _, err := ask(c.Address(), "end a"); err != nil {
		t.Error(err)
	}
	await(t, "it comes back", func() bool { return c.Members()[1].State() == launch.State{Running: true, Starts: 2} })
}

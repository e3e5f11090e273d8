package launchtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/weft-rl/weft/internal/launch"
)

// variable is set in the environment of a cluster's processes.
const variable = "WEFT_LAUNCHTEST"

// Main returns at once, unless this process is one of a cluster that a test has launched: then it
// is that to its end. It ends when it is sent SIGTERM, or, where a launcher gives it a flag, when
// its standard input does.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() { // to the end of the process
		<-asked
		os.Exit(0)
	}()
	args := os.Args[1:]
	if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--") }); i >= 0 {
		args = args[:i]
		go func() { // to the end of the process
			_, _ = os.Stdin.Read(make([]byte, 1))
			os.Exit(0)
		}()
	}
	switch args[0] {
	case "coordinator":
		fail(coordinate(args[1]))
	case "worker":
		work(args[1], args[2], args[3:])
	case "silent":
		select {}
	default:
		fail(errors.New(strings.Join(args[1:], " ")))
	}
}

// fail ends the process with a reason.
func fail(why error) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(1)
}

// work joins the coordinator at an address, and again when it is lost. It says words first, if
// there are any.
func work(name, at string, words []string) {
	for _, x := range words {
		fmt.Fprintln(os.Stderr, x)
	}
	for {
		if conn, err := net.Dial("tcp", at); err == nil {
			if answer, err := exchange(conn, "join "+name); err == nil && answer == "end" {
				os.Exit(1)
			}
			_ = conn.Close() // it is lost
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// exchange sends a line and reads one.
func exchange(conn net.Conn, line string) (string, error) {
	if _, err := fmt.Fprintln(conn, line); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(answer), err
}

// table holds the workers that have joined.
type table struct {
	mu   sync.Mutex
	here map[string]net.Conn
}

// coordinate answers at an address: "who" by the names of workers; "end NAME" has one end, "die"
// the coordinator itself.
func coordinate(at string) error {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(launch.NewListening(l.Addr().String())); err != nil {
		return err
	}
	t := table{here: map[string]net.Conn{}}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go t.serve(conn) // to the end of the process, or of the connection
	}
}

// serve answers one connection. That of a worker stays.
func (t *table) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	line, err := in.ReadString('\n')
	verb, name, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case err != nil:
	case verb == "die":
		os.Exit(1)
	case verb == "who":
		fmt.Fprintln(conn, strings.Join(t.names(), " "))
	case verb == "end":
		t.mu.Lock()
		fmt.Fprintln(t.here[name], "end")
		t.mu.Unlock()
		fmt.Fprintln(conn, "done")
	case verb == "join":
		t.mu.Lock()
		t.here[name] = conn
		t.mu.Unlock()
		_, _ = in.ReadByte() // it never says more: that is its end
		t.mu.Lock()
		if t.here[name] == conn {
			delete(t.here, name)
		}
		t.mu.Unlock()
	}
}

// names returns the workers that have joined, sorted.
func (t *table) names() (out []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.here {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

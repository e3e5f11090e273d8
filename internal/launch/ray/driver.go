package ray

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"

	"github.com/weft-rl/weft/internal/launch/local"
)

//go:embed driver.py
var source string

// step is the program that stands for a worker's process on this machine.
//
//go:embed step.py
var step string

// driver answers requests at a Unix socket.
type driver struct {
	path    string
	python  string    // interpreter that runs it
	version string    // version of Ray
	in      io.Closer // its standard input, with which it ends; nil of an actor's
}

// interpreter returns the Python to run a driver with: the one that is named, that of this job's
// actor, or the user's.
func interpreter(named string) string {
	return cmp.Or(named, os.Getenv("WEFT_RAY_PYTHON"), os.Getenv("WEFT_PYTHON"), "python3")
}

// startDriver starts a driver as a child process, and waits until it is connected. It ends with
// this process.
func startDriver(ctx context.Context, address, python string) (*driver, error) {
	python = interpreter(python)
	var said local.Tail
	cmd := exec.Command(python, "-c", source, address)
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("there is no Python here to reach Ray with (%w): name one that has Ray with WEFT_PYTHON or --ray python=PATH", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // or it has ended
	line, _ := bufio.NewReader(out).ReadBytes('\n')
	var hello struct{ Path, Version, Error string }
	err = json.Unmarshal(line, &hello)
	if stop() && err == nil && hello.Path != "" {
		return &driver{hello.Path, python, hello.Version, in}, nil
	}
	_ = cmd.Process.Kill() // or it has ended
	_ = cmd.Wait()         // it was killed
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if hello.Error != "" {
		return nil, errors.New(hello.Error)
	}
	return nil, fmt.Errorf("%s cannot run the driver of Ray: %s", python, cmp.Or(lastLine(said.String()), "it says nothing and ends"))
}

// lastLine returns the last line of a text.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// request asks a driver for something: a verb, and what the verb needs.
type request map[string]any

// dial sends a request.
func (d *driver) dial(ctx context.Context, r request) (net.Conn, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", d.path)
	if err != nil {
		return nil, fmt.Errorf("the driver of Ray has ended: %w", err)
	}
	if _, err := conn.Write(append(text, '\n')); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// ask sends a request and reads the reply; a nil reply is not looked at.
func (d *driver) ask(ctx context.Context, r request, reply any) error {
	conn, err := d.dial(ctx, r)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	text, err := bufio.NewReader(conn).ReadBytes('\n')
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("the driver of Ray has ended: %w", err)
	}
	var failed struct{ Error string }
	if err := json.Unmarshal(text, &failed); err != nil || failed.Error != "" {
		return cmp.Or(err, errors.New(failed.Error))
	}
	if reply == nil {
		return nil
	}
	return json.NewDecoder(bytes.NewReader(text)).Decode(reply)
}

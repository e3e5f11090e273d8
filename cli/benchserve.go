package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weft-rl/weft/internal/bench"
	children "github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/run/scratch"
	"github.com/weft-rl/weft/internal/serve/policypb"
)

// benchServe trains a small policy, serves it with Weft and with a peer, each in a process of its
// own, and measures them in turns.
func (c *command) benchServe(ctx context.Context, cases []bench.Case, f *benchFlags) (err error) {
	c.started = true
	folder, err := scratch.New("weft-serve-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	run, model := filepath.Join(folder.Path, "run"), filepath.Join(folder.Path, "policy.onnx")
	for _, args := range [][]string{
		{"train", "ppo", "--env", "CartPole-v1", "--steps", "2048", "--eval-episodes", "0", "--out", run, "--json"},
		{"export", run, "--out", model},
	} {
		var said bytes.Buffer
		if code := Run(ctx, c.set, args, io.Discard, &said); code != exitDone {
			return fmt.Errorf("weft %s: %s", strings.Join(args, " "), strings.TrimSpace(said.String()))
		}
	}
	all := &servers{wants: func(name string) bool { return len(f.Only) == 0 || slices.Contains(f.Only, name) }}
	defer all.end()
	if err := all.startWeft(ctx, run); err != nil {
		return err
	}
	if err := all.startPeer(ctx, f.Python, model); err != nil && len(f.Only) > 0 {
		return err
	} else if err != nil && !f.json {
		fmt.Fprintln(c.out, err)
	}
	return c.measureServers(ctx, cases, all.list, f)
}

// server is a server under test.
type server struct {
	name string
	ask  func(ctx context.Context, client int) error
}

// servers are the servers under test, in processes of their own.
type servers struct {
	wants func(name string) bool
	list  []server
	ends  []func()
}

// add adds a server, if it is wanted.
func (s *servers) add(name string, ask func(context.Context, int) error) {
	if s.wants(name) {
		s.list = append(s.list, server{name, ask})
	}
}

// end ends all processes and connections.
func (s *servers) end() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
}

// served is one result.
type served struct {
	Case   string `json:"case"`
	Server string `json:"server"`
	bench.Answers
}

// measureServers has the servers take turns, and prints for each case the round with the least
// 99th percentile: other processes can only slow a server down.
func (c *command) measureServers(ctx context.Context, cases []bench.Case, servers []server, f *benchFlags) error {
	turn, rounds := 5*time.Second, max(1, f.Count)
	if f.Quick {
		turn = 300 * time.Millisecond
	}
	t := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	if !f.json {
		fmt.Fprintln(t, "case\tserver\tanswers/s\tp50\tp99\tfailed")
	}
	for _, x := range cases {
		best := make([]bench.Answers, len(servers))
		for round := range rounds {
			for i, s := range servers {
				got := x.Spec.(bench.Traffic).Send(ctx, turn, s.ask)
				if ctx.Err() != nil {
					return exitStatus(exitInterrupted)
				}
				if round == 0 || got.P99 < best[i].P99 {
					best[i] = got
				}
			}
		}
		for i, s := range servers {
			var err error
			if b := best[i]; f.json {
				err = json.NewEncoder(c.out).Encode(served{x.ID, s.name, b})
			} else {
				_, err = fmt.Fprintf(t, "%s\t%s\t%.0f\t%.2f ms\t%.2f ms\t%d of %d\n", x.ID, s.name, b.Rate, 1e3*b.P50, 1e3*b.P99, b.Failed, b.Requests)
			}
			if err != nil {
				return err
			}
		}
	}
	return t.Flush()
}

// startWeft starts Weft's server, if it is wanted.
func (s *servers) startWeft(ctx context.Context, run string) error {
	if !s.wants("weft") && !s.wants("weft-grpc") {
		return nil
	}
	program, err := self()
	if err != nil {
		return err
	}
	said, err := s.start(ctx, program, "serve", run, "--newest", "--listen", "127.0.0.1:0", "--grpc", "127.0.0.1:0")
	if err != nil {
		return err
	}
	at := regexp.MustCompile(`(http://\S+) and by gRPC at (\S+)`).FindStringSubmatch(said)
	if at == nil {
		return fmt.Errorf("weft serve said %q", said)
	}
	s.add("weft", s.byHTTP(at[1]))
	ask, err := s.byGRPC(at[2])
	s.add("weft-grpc", ask)
	return err
}

// startPeer starts the peer's server, if it is wanted. The error says what to install.
func (s *servers) startPeer(ctx context.Context, python, model string) error {
	if !s.wants("fastapi") {
		return nil
	}
	peer, err := bench.PeerServer()
	if err != nil {
		return err
	}
	said, err := s.start(ctx, python, "-c", peer, model)
	at := regexp.MustCompile(`ready \S+ \S+ (\d+)`).FindStringSubmatch(said)
	if at == nil {
		return errors.Join(err, fmt.Errorf("fastapi is not there (%s): %s -m pip install fastapi uvicorn onnxruntime", strings.TrimSpace(said), python))
	}
	s.add("fastapi", s.byHTTP("http://127.0.0.1:"+at[1]+"/v1/act"))
	return nil
}

// start starts a program and returns its first line.
func (s *servers) start(ctx context.Context, program string, args ...string) (said string, err error) {
	cmd := exec.CommandContext(ctx, program, args...)
	children.Bind(cmd)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", err
	}
	s.ends = append(s.ends, func() {
		children.EndGroup(cmd)
		_ = cmd.Wait() // it was killed
	})
	if said, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		return said, fmt.Errorf("%s ended: %w", program, err)
	}
	return said, nil
}

// asked is the observation of every request.
var asked = []float64{0.01, -0.02, 0.03, 0.04}

// byHTTP returns what sends a request by HTTP, over connections that stay open.
func (s *servers) byHTTP(url string) func(context.Context, int) error {
	body, _ := json.Marshal(map[string]any{"obs": asked}) // numbers
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}
	s.ends = append(s.ends, client.CloseIdleConnections)
	return func(ctx context.Context, _ int) error {
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		q.Header.Set("Content-Type", "application/json")
		a, err := client.Do(q)
		if err != nil {
			return err
		}
		defer a.Body.Close()
		if _, err := io.Copy(io.Discard, a.Body); err != nil || a.StatusCode != http.StatusOK {
			return errors.Join(err, fmt.Errorf("status %s", a.Status))
		}
		return nil
	}
}

// byGRPC returns what sends a request by gRPC, over one connection.
func (s *servers) byGRPC(at string) (func(context.Context, int) error, error) {
	conn, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	s.ends = append(s.ends, func() { _ = conn.Close() }) // nothing is under way
	client := policypb.NewPolicyClient(conn)
	return func(ctx context.Context, _ int) error {
		_, err := client.Act(ctx, &policypb.ActRequest{Obs: asked})
		return err
	}, nil
}

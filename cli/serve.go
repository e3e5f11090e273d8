package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/observe"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/serve"
	"github.com/weft-rl/weft/internal/serve/policypb"
	"github.com/weft-rl/weft/internal/web"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	weightFlags
	listenFlags
	reload   time.Duration
	grpc     string
	proto    bool
	versions int
}

// defaultServe is where policies are served, unless it is said.
const defaultServe = "127.0.0.1:8000"

func (c *command) serve() *cobra.Command {
	var f serveFlags
	set := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "serve RUN...",
		Short: "Answer requests for actions with a run's policy",
		Long: "Serve answers HTTP requests for the greedy actions of trained policies. Requests that arrive together are\n" +
			"computed together. Weights that evaluate better are loaded while the run goes on; older versions stay\n" +
			"available. NAME=RUN names a policy; requests that name none get the first.\n\n" +
			"POST /v1/act takes {\"obs\": [...]} and returns {\"action\": ..., \"version\": STEP}. A policy with memory also\n" +
			"returns \"memory\", which the next request of the episode sends back. /metrics is for Prometheus, /healthz and\n" +
			"/readyz are for who watches over it. With --grpc it answers gRPC requests too.",
		Example: "  weft serve runs/ppo-CartPole-v1-seed1\n" +
			"  weft serve new=runs/today old=runs/yesterday --listen 127.0.0.1:9000\n" +
			"  weft serve runs/ppo-CartPole-v1-seed1 --grpc 127.0.0.1:8001\n" +
			"  curl -d '{\"obs\": [0, 0, 0.1, 0]}' localhost:8000/v1/act",
		Args: func(cmd *cobra.Command, args []string) error {
			if f.proto {
				return nil
			}
			return someRuns(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.proto {
				_, err := io.WriteString(c.out, policypb.Proto)
				return err
			}
			return c.runServe(cmd.Context(), args, set.changed(cmd), f)
		},
	}
	f.listenFlags.flags(cmd, defaultServe)
	cmd.Flags().DurationVar(&f.reload, "reload", 2*time.Second, "`time` between looks for better weights; 0 is never")
	cmd.Flags().IntVar(&f.versions, "versions", 2, "`number` of versions of a policy that are kept, the newest included")
	cmd.Flags().StringVar(&f.grpc, "grpc", "", "`address` to answer gRPC requests at, beside HTTP; off by default")
	cmd.Flags().BoolVar(&f.proto, "proto", false, "print the interface for gRPC clients (policy.proto), and serve nothing")
	f.weightFlags.flags(cmd, "serve")
	c.settingFlags(cmd, set, []string{"device", "python"})
	return cmd
}

func (c *command) runServe(ctx context.Context, args []string, flags []config.Assignment, f serveFlags) error {
	err := f.check()
	if f.reload < 0 {
		err = errors.Join(err, fmt.Errorf("--reload: %v is not a time", f.reload))
	}
	if f.versions < 1 {
		err = errors.Join(err, fmt.Errorf("--versions: %d is not a number of versions", f.versions))
	}
	sources, wrong := c.sources(args, flags, f.which())
	if err := errors.Join(err, wrong); err != nil {
		return err
	}
	l, remote, token, err := f.listenBoth()
	if err != nil {
		return err
	}
	defer closeUnused(l, remote)
	c.started = true
	s := &serve.Server{}
	defer func() {
		for _, p := range s.Policies {
			_ = p.Close() // the process ends
		}
	}()
	for _, src := range sources {
		p, err := serve.New(ctx, src.name, src, f.versions)
		if err != nil {
			return err
		}
		s.Policies = append(s.Policies, p)
	}
	h, err := servePaths(s, token)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("http://%s/v1/act", l.Addr())
	if remote != nil {
		where += fmt.Sprintf(" and by gRPC at %s", remote.Addr())
	}
	fmt.Fprintf(c.out, "serving %s at %s%s\n", strings.Join(args, ", "), where, tokenHint(token))
	return c.improving(ctx, s, f.reload, func() error { return serveBoth(ctx, s, l, remote, h, token) })
}

// lingering is how long requests under way are answered when a server ends.
const lingering = 10 * time.Second

// serveBoth answers over HTTP and, if there is a listener for it, over gRPC. If one ends, so does
// the other.
func serveBoth(ctx context.Context, s *serve.Server, l, remote net.Listener, h http.Handler, token string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var grpc sync.WaitGroup
	var wrong error
	if remote != nil {
		grpc.Go(func() {
			defer stop()
			wrong = s.GRPC(ctx, remote, token, lingering)
		})
	}
	err := web.Serve(ctx, l, h, 30*time.Second, lingering)
	stop()
	grpc.Wait()
	return errors.Join(err, wrong)
}

// listenBoth returns the listeners of HTTP and of gRPC, which is nil if nobody asked for it, and
// the token of both.
func (f serveFlags) listenBoth() (l, remote net.Listener, token string, err error) {
	if l, token, err = f.listen(); err != nil || f.grpc == "" {
		return l, nil, token, err
	}
	if remote, err = net.Listen("tcp", f.grpc); err != nil {
		return nil, nil, "", errors.Join(fmt.Errorf("--grpc: %w", err), l.Close())
	}
	if token == "" && !web.Loopback(remote.Addr()) {
		token = web.NewToken()
	}
	return l, remote, token, nil
}

// closeUnused closes listeners; those that were served at are closed already.
func closeUnused(all ...net.Listener) {
	for _, l := range all {
		if l != nil {
			_ = l.Close()
		}
	}
}

// improving looks for better weights while the server runs.
func (c *command) improving(ctx context.Context, s *serve.Server, every time.Duration, serve func() error) error {
	ctx, stop := context.WithCancel(ctx)
	var followers sync.WaitGroup
	var mu sync.Mutex
	for _, p := range s.Policies {
		if every > 0 {
			followers.Go(func() {
				p.Follow(ctx, every, func(text string) {
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintln(c.out, text)
				})
			})
		}
	}
	err := serve()
	stop()
	followers.Wait()
	return err
}

// servePaths returns what answers for policies and for who watches the server.
func servePaths(s *serve.Server, token string) (http.Handler, error) {
	well := func() error { return nil }
	watched, err := observe.Process{Metrics: observe.Policies(s), Well: well, Ready: func(context.Context) error { return nil }}.Handler()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", web.Guard(token, s.Handler()))
	mux.Handle("/", watched)
	return mux, nil
}

// source loads the policy of a run for a server.
type source struct {
	name, dir string
	job       runner.Job
	which     runner.Weights
}

// sources returns what arguments, each RUN or NAME=RUN, stand for.
func (c *command) sources(args []string, flags []config.Assignment, which runner.Weights) (out []*source, err error) {
	seen := map[string]bool{}
	for _, arg := range args {
		name, dir, ok := strings.Cut(arg, "=")
		if _, there := os.Stat(arg); there == nil || !ok {
			dir, name = arg, filepath.Base(filepath.Clean(arg))
		}
		if seen[name] {
			err = errors.Join(err, fmt.Errorf("two policies are called %q: name one of them, as in other=%s", name, dir))
		}
		seen[name] = true
		dir = request.RunFolder(dir)
		file, wrong := request.RunConfig(dir)
		if wrong != nil {
			err = errors.Join(err, wrong)
			continue
		}
		r, wrong := c.set.Resolve(request.Layers{File: file, Flags: flags})
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", dir, wrong))
			continue
		}
		r.Single = true
		job, wrong := r.Job()
		job.Dir, job.Watch = dir, runner.Silent{}
		out, err = append(out, &source{name, dir, job, which}), errors.Join(err, wrong)
	}
	return out, err
}

// Stamp returns what is known of the files that say which weights there are.
func (s *source) Stamp() string {
	var b strings.Builder
	for _, pattern := range []string{"committed.json", filepath.Join("checkpoints", "*")} {
		files, _ := filepath.Glob(filepath.Join(s.dir, pattern))
		for _, name := range files {
			if info, err := os.Stat(name); err == nil {
				fmt.Fprintln(&b, name, info.Size(), info.ModTime())
			}
		}
	}
	return b.String()
}

// Load loads the weights that were chosen.
func (s *source) Load(ctx context.Context) (*runner.Player, int64, error) {
	p, _, step, err := runner.LoadPlayer(ctx, s.job, s.which)
	return p, step, err
}

// listenFlags say where a web server listens, and who is let in.
type listenFlags struct{ at, token string }

func (f *listenFlags) flags(cmd *cobra.Command, at string) {
	cmd.Flags().StringVar(&f.at, "listen", at, "`address` to listen at; beyond this machine a token is needed, and one is made if --token names none")
	cmd.Flags().StringVar(&f.token, "token", "", "`file` with the token that requests must carry")
}

// listen returns the listener and the token, which is empty if there is none.
func (f listenFlags) listen() (net.Listener, string, error) {
	token := ""
	if f.token != "" {
		text, err := os.ReadFile(f.token)
		if err != nil {
			return nil, "", fmt.Errorf("--token: %w", err)
		}
		if token = strings.TrimSpace(string(text)); token == "" {
			return nil, "", fmt.Errorf("--token: %s is empty: write a secret into it", f.token)
		}
	}
	l, err := net.Listen("tcp", f.at)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("something else listens at %s: name another address, such as 127.0.0.1:0 for any free port", f.at)
	}
	if err != nil {
		return nil, "", fmt.Errorf("--listen: %w", err)
	}
	if token == "" && !web.Loopback(l.Addr()) {
		token = web.NewToken()
	}
	return l, token, nil
}

// tokenHint says what requests must carry.
func tokenHint(token string) string {
	if token == "" {
		return ""
	}
	return ` with "Authorization: Bearer ` + token + `"`
}

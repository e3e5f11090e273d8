// Package s3test runs a real S3 server for tests: Versity's gateway, which keeps
// objects in a folder (go install github.com/versity/versitygw/cmd/versitygw@latest).
package s3test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/port"
)

// Program is the variable that names the server's program. Without it the tests that
// need one are skipped.
const Program = "WEFT_S3_SERVER"

// The keys that the server is started with.
const key, secret = "weft", "a secret of the tests"

const bucket = "bucket"

// Server is a server of one test.
type Server struct {
	t       *testing.T
	dir     string
	address string
	process *exec.Cmd
	said    bytes.Buffer
}

// Start starts a server with an empty bucket, and puts its keys into the environment.
func Start(t *testing.T) *Server {
	t.Helper()
	if os.Getenv(Program) == "" {
		t.Skipf("there is no S3 server: %s names the program of one (versitygw)", Program)
	}
	s := &Server{t: t, dir: t.TempDir(), address: port.Lasting()}
	for _, name := range []string{"root/" + bucket, "meta"} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", key)
	t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	t.Cleanup(s.Kill)
	s.Run()
	return s
}

// Place returns where the store is that uses the server, as store.Open takes it.
func (s *Server) Place(folder string) string {
	return fmt.Sprintf("s3://%s/%s/%s?insecure=true", s.address, bucket, folder)
}

// Absent returns the place of a bucket that does not exist.
func (s *Server) Absent() string { return fmt.Sprintf("s3://%s/absent/x?insecure=true", s.address) }

// Run starts the server, also again after Kill, and waits until it answers.
func (s *Server) Run() {
	s.t.Helper()
	s.process = exec.Command(os.Getenv(Program), "--port", s.address, "--access", key, "--secret", secret, "--quiet",
		"posix", "--sidecar", filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "root"))
	s.process.Stdout, s.process.Stderr = &s.said, &s.said
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address, nil)
		if err != nil {
			s.t.Fatal(err)
		}
		if r, err := http.DefaultClient.Do(q); err == nil {
			r.Body.Close()
			http.DefaultClient.CloseIdleConnections()
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.Kill()
	s.t.Fatalf("the server does not answer: %s", s.said.String())
}

// Kill ends the server at once, in the middle of requests.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill() // it may have ended
	_ = s.process.Wait()
	s.process = nil
}

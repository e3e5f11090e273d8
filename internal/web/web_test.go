package web_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

// TestGuard: without a token, requests must name this machine; with one, they must carry it.
func TestGuard(t *testing.T) {
	for _, x := range []struct {
		name, token, path, host, header, cookie string
		status                                  int
	}{
		{"local", "", "/", "localhost:80", "", "", 200},
		{"an address", "", "/", "127.0.0.1:7000", "", "", 200},
		{"version 6", "", "/", "[::1]:7000", "", "", 200},
		{"another name", "", "/", "evil.example", "", "", 403},
		{"a name that looks alike", "", "/", "localhost.evil.example", "", "", 403},
		{"no token", "secret", "/", "any", "", "", 401},
		{"a wrong one", "secret", "/", "any", "Bearer secre", "", 401},
		{"an empty one", "secret", "/", "any", "Bearer ", "", 401},
		{"a header", "secret", "/", "any", "Bearer secret", "", 200},
		{"a cookie", "secret", "/", "any", "", "secret", 200},
		{"the first visit", "secret", "/x?token=secret", "any", "", "", 303},
		{"a wrong visit", "secret", "/x?token=other", "any", "", "", 401},
	} {
		t.Run(x.name, func(t *testing.T) {
			q := httptest.NewRequest(http.MethodGet, x.path, nil)
			q.Host = x.host
			q.Header.Set("Authorization", x.header)
			if x.cookie != "" {
				q.AddCookie(&http.Cookie{Name: web.Cookie, Value: x.cookie})
			}
			w := httptest.NewRecorder()
			web.Guard(x.token, hello).ServeHTTP(w, q)
			if w.Code != x.status {
				t.Errorf("status %d, want %d: %s", w.Code, x.status, w.Body)
			}
			if x.status == 303 && (w.Header().Get("Location") != "/x" || !strings.Contains(w.Header().Get("Set-Cookie"), "HttpOnly")) {
				t.Errorf("headers %v", w.Header())
			}
		})
	}
}

// TestServe: a request under way is answered when the server is to end.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if !web.Loopback(l.Addr()) {
		t.Errorf("%s is of this machine alone", l.Addr())
	}
	ctx, stop := context.WithCancel(t.Context())
	begun := make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		close(begun)
		stop()
		<-ctx.Done()
		if q.Context().Err() == nil {
			_, _ = io.WriteString(w, "late")
		}
	})
	done := make(chan error, 1)
	go func() { done <- web.Serve(ctx, l, slow, time.Minute, time.Minute) }()
	answer, err := http.Get("http://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	<-begun
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "late" {
		t.Errorf("%q, %v", text, err)
	}
	http.DefaultClient.CloseIdleConnections()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestToken: tokens are long, and no two are alike.
func TestToken(t *testing.T) {
	if a, b := web.NewToken(), web.NewToken(); a == b || len(a) < 20 {
		t.Errorf("%q and %q", a, b)
	}
}

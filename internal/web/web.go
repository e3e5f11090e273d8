// Package web has what all web servers of the command line share: how they end, and who is let in.
package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Serve answers requests until ctx is done, and then lets those under way finish for at most
// linger. Write is how long an answer may take; 0 is without a bound, for answers that go on.
func Serve(ctx context.Context, l net.Listener, h http.Handler, write, linger time.Duration) error {
	server := &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: write, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	var closing sync.WaitGroup
	over, stop := context.WithCancel(ctx)
	closing.Go(func() {
		<-over.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), linger)
		defer cancel()
		if server.Shutdown(ending) != nil {
			_ = server.Close() // whoever still waits is cut off
		}
	})
	err := server.Serve(l)
	stop()
	closing.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Loopback reports whether an address, as a listener has it, is reached from this machine alone.
func Loopback(a net.Addr) bool {
	at, err := netip.ParseAddrPort(a.String())
	return err == nil && at.Addr().IsLoopback()
}

// NewToken returns a random secret of at least 128 bits.
func NewToken() string { return rand.Text() }

// Guard lets requests through that carry the token, as "Authorization: Bearer TOKEN", in the cookie
// that Cookie names, or as the first visit of a browser does, in the query; without a token,
// requests that name this machine as their host. Another page in a user's browser could otherwise
// reach a server on this machine through a name of its own.
func Guard(token string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case token == "" && !local(q.Host):
			refuse(w, http.StatusForbidden, "this server answers on this machine alone: ask it as localhost, or start it with --listen and a token")
		case token == "":
			h.ServeHTTP(w, q)
		case equal(strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer "), token), equal(cookie(q), token):
			h.ServeHTTP(w, q)
		case q.Method == http.MethodGet && equal(q.URL.Query().Get("token"), token):
			http.SetCookie(w, &http.Cookie{Name: Cookie, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			http.Redirect(w, q, q.URL.Path, http.StatusSeeOther)
		default:
			refuse(w, http.StatusUnauthorized, "a token is needed: send the header \"Authorization: Bearer TOKEN\" with the one that was printed when the server started")
		}
	})
}

// Cookie is the name of the cookie that holds the token of a browser's session.
const Cookie = "weft_token"

func cookie(q *http.Request) string {
	if c, err := q.Cookie(Cookie); err == nil {
		return c.Value
	}
	return ""
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// local reports whether a Host header names this machine.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if host == "localhost" {
		return true
	}
	at, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && at.IsLoopback()
}

func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, why)
}

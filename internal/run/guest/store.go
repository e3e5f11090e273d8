package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/store"
)

// A program has no keys of an object store. It reads and writes the objects of its run through its
// worker, over a second connection that it was born with, which carries HTTP/2 without TLS.

// wants returns the HTTP version of that connection.
func wants() *http.Protocols {
	p := new(http.Protocols)
	p.SetUnencryptedHTTP2(true)
	return p
}

// ServeStore answers a program's requests about the objects of a store until the connection is
// closed, and returns when nothing is read or written any more.
func ServeStore(conn net.Conn, s store.Store) {
	k := &keeper{Store: s}
	server := &http.Server{Handler: k, Protocols: wants()}
	_ = server.Serve(&once{conn: conn, closed: make(chan struct{})}) // it ends with the connection
	_ = server.Close()
	k.work.Wait()
}

// once is a listener that has accepted one connection, and accepts no other.
type once struct {
	mu     sync.Mutex
	conn   net.Conn
	closed chan struct{}
	shut   sync.Once
}

// Accept implements net.Listener.
func (o *once) Accept() (net.Conn, error) {
	o.mu.Lock()
	c := o.conn
	o.conn = nil
	o.mu.Unlock()
	if c != nil {
		return ending{c, o}, nil
	}
	<-o.closed
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (o *once) Close() error {
	o.shut.Do(func() { close(o.closed) })
	return nil
}

// Addr implements net.Listener.
func (o *once) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

// ending is a connection that closes its listener.
type ending struct {
	net.Conn
	of *once
}

// Close implements net.Conn.
func (e ending) Close() error { return errors.Join(e.Conn.Close(), e.of.Close()) }

// keeper answers requests about objects.
type keeper struct {
	store.Store
	work sync.WaitGroup // requests that are being answered
}

// ServeHTTP implements http.Handler.
func (k *keeper) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	k.work.Add(1)
	defer k.work.Done()
	name := q.URL.Query().Get("name")
	var err error
	switch {
	case q.Method == http.MethodPut:
		err = k.Put(q.Context(), name, q.Body, q.ContentLength)
	case q.Method == http.MethodDelete:
		err = k.Delete(q.Context(), name)
	case name == "":
		var names []string
		if names, err = k.List(q.Context()); err == nil {
			err = json.NewEncoder(w).Encode(names)
		}
	default:
		err = k.get(w, q, name)
	}
	if err != nil {
		http.Error(w, err.Error(), statusOf(err))
	}
}

func (k *keeper) get(w http.ResponseWriter, q *http.Request, name string) error {
	r, size, err := k.Get(q.Context(), name)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Length", fmt.Sprint(size))
	_, _ = io.Copy(w, r) // what was cut short does not have its length
	return r.Close()
}

// statusOf returns the HTTP status that tells errors apart which are treated differently.
func statusOf(err error) int {
	switch {
	case errors.Is(err, store.ErrNone):
		return http.StatusNotFound
	case part.FailureOf(err).Permanent:
		return http.StatusInsufficientStorage
	}
	return http.StatusInternalServerError
}

// remote is the store of a program's run, at the worker's end of a connection.
type remote struct {
	client *http.Client
	folder string
}

// RemoteStore returns the store at the other end of a connection.
func RemoteStore(conn net.Conn) store.Store {
	first := make(chan net.Conn, 1)
	first <- conn
	return remote{client: &http.Client{Transport: &http.Transport{
		Protocols: wants(),
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-first:
				return c, nil
			default:
				return nil, errors.New("the connection to the worker is closed")
			}
		},
	}}}
}

func (r remote) name(name string) string {
	if r.folder != "" && name != "" {
		return r.folder + "/" + name
	}
	return name
}

// do sends a request. The caller closes the answer's body.
func (r remote) do(ctx context.Context, method, name string, body io.Reader, size int64) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, method, "http://worker/?name="+url.QueryEscape(r.name(name)), body)
	if err != nil {
		return nil, err
	}
	if q.ContentLength = size; size == 0 {
		q.Body = http.NoBody // else its length is unknown
	}
	a, err := r.client.Do(q)
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if a.StatusCode == http.StatusOK {
		return a, nil
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, 4<<10))
	err = errors.Join(err, a.Body.Close())
	words := strings.TrimSpace(string(text))
	switch {
	case err != nil:
	case a.StatusCode == http.StatusNotFound:
		err = fmt.Errorf("%s: %w", strings.TrimSuffix(words, ": "+store.ErrNone.Error()), store.ErrNone)
	default:
		err = part.Failure{Text: words, Permanent: a.StatusCode == http.StatusInsufficientStorage}.Err()
	}
	return nil, err
}

// Put implements store.Store.
func (r remote) Put(ctx context.Context, name string, from io.Reader, size int64) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	a, err := r.do(ctx, http.MethodPut, name, io.NopCloser(from), size)
	if err != nil {
		return err
	}
	return a.Body.Close()
}

// Get implements store.Store.
func (r remote) Get(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if err := store.CheckName(name); err != nil {
		return nil, 0, err
	}
	a, err := r.do(ctx, http.MethodGet, name, nil, 0)
	if err != nil {
		return nil, 0, err
	}
	return a.Body, a.ContentLength, nil
}

// List implements store.Store.
func (r remote) List(ctx context.Context) (names []string, err error) {
	a, err := r.do(ctx, http.MethodGet, "", nil, 0)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close()
	if err := json.NewDecoder(a.Body).Decode(&names); err != nil || r.folder == "" {
		return names, err
	}
	var mine []string
	for _, name := range names {
		if name, ok := strings.CutPrefix(name, r.folder+"/"); ok {
			mine = append(mine, name)
		}
	}
	return mine, nil
}

// Delete implements store.Store.
func (r remote) Delete(ctx context.Context, name string) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	a, err := r.do(ctx, http.MethodDelete, name, nil, 0)
	if err != nil {
		return err
	}
	return a.Body.Close()
}

// Under implements store.Store.
func (r remote) Under(folder string) store.Store {
	r.folder = r.name(folder)
	return r
}

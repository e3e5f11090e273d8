package s3

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/internal/run/store/s3test"
	"github.com/weft-rl/weft/internal/run/store/storetest"
)

// existing is the variable that names a store to test with, as store.Open takes it; its keys
// are in the environment as ever.
const existing = "WEFT_S3_PLACE"

// TestRealPlace: a store that somebody has does what a store does.
func TestRealPlace(t *testing.T) {
	if os.Getenv(existing) == "" {
		t.Skipf("there is no S3 store: %s names one, such as s3://HOST/BUCKET/FOLDER", existing)
	}
	all, err := store.Open(os.Getenv(existing))
	if err != nil {
		t.Fatal(err)
	}
	s := all.Under("weft-test-" + rand.Text())
	t.Cleanup(func() {
		names, err := s.List(context.Background())
		for _, name := range names {
			err = errors.Join(err, s.Delete(context.Background(), name))
		}
		if err != nil {
			t.Error(err)
		}
	})
	storetest.Contract(t, s.Under("contract"))
	storetest.Whole(t, s.Under("whole"))
	parts(t, s.Under("parts"))
}

func openReal(t *testing.T, place string) store.Store {
	t.Helper()
	s, err := store.Open(place)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRealServer: the same on a server of the test's own.
func TestRealServer(t *testing.T) {
	server := s3test.Start(t)
	storetest.Contract(t, openReal(t, server.Place("contract")))
	storetest.Whole(t, openReal(t, server.Place("whole")))
	parts(t, openReal(t, server.Place("parts")))
}

// noise returns a reader of so many bytes that a seed determines.
func noise(seed byte, size int64) io.Reader {
	return io.LimitReader(mathrand.NewChaCha8([32]byte{seed}), size)
}

// parts: what is sent in parts is there as a whole, and replaced as a whole.
func parts(t *testing.T, s store.Store) {
	const size = 2*part + 12345
	for _, seed := range []byte{1, 2} {
		if err := s.Put(t.Context(), "large", noise(seed, size), size); err != nil {
			t.Fatal(err)
		}
		if n, err := s.List(t.Context()); err != nil || !slices.Equal(n, []string{"large"}) {
			t.Errorf("%v, %v", n, err)
		}
		same(t, s, "large", seed, size)
	}
	if err := s.Put(t.Context(), "large", noise(3, size-1), size); err == nil {
		t.Error("what was too short was put")
	}
	if err := s.Delete(t.Context(), "large"); err != nil {
		t.Error(err)
	}
}

// TestRealRefused: wrong keys, and a bucket that there is not, are told as what they are.
func TestRealRefused(t *testing.T) {
	server := s3test.Start(t)
	s := openReal(t, server.Absent())
	_, err := s.List(t.Context())
	if err == nil || !strings.Contains(err.Error(), "bucket absent") || errors.Is(err, store.ErrNone) {
		t.Errorf("no bucket: %v", err)
	}
	if _, _, err := s.Get(t.Context(), "x"); err == nil || errors.Is(err, store.ErrNone) {
		t.Errorf("no bucket: %v", err)
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "another secret")
	s = openReal(t, server.Place("x"))
	for what, err := range map[string]error{
		"put":    s.Put(t.Context(), "x", strings.NewReader("y"), 1),
		"delete": s.Delete(t.Context(), "x"),
		"get":    func() error { _, _, err := s.Get(t.Context(), "x"); return err }(),
		"list":   func() error { _, err := s.List(t.Context()); return err }(),
	} {
		if err == nil || errors.Is(err, store.ErrNone) || !strings.Contains(err.Error(), "bucket bucket") {
			t.Errorf("%s with a wrong key: %v", what, err)
		}
	}
}

// pausing is a reader that does something when so much of it was read.
type pausing struct {
	io.Reader
	at int64
	do func()
}

func (p *pausing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.at -= int64(n); p.at <= 0 && p.do != nil {
		p.do()
		p.do = nil
	}
	return n, err
}

// TestRealKilled: a server that is killed while it is written to has what it had, and a
// large object, of which some parts had arrived, goes when it is swept. One that comes
// back soon enough makes no difference.
func TestRealKilled(t *testing.T) {
	server := s3test.Start(t)
	s := openReal(t, server.Place("runs"))
	storetest.Put(t, s, "small", []byte("old"))
	const size = 3 * part
	if err := s.Put(t.Context(), "large", noise(1, size), size); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"small", "large", "new"} {
		size := int64(size)
		if name == "small" {
			size = 1000
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		if err := s.Put(ctx, name, &pausing{noise(2, size), size * 2 / 3, server.Kill}, size); err == nil {
			t.Errorf("%s was put, though the server was killed", name)
		}
		stop()
		server.Run()
	}
	names, err := s.List(t.Context())
	if err != nil || !slices.Equal(names, []string{"large", "small"}) || string(storetest.Get(t, s, "small")) != "old" {
		t.Errorf("%v, %v", names, err)
	}
	same(t, s, "large", 1, size)
	sweep := func(name string) int {
		if err := s.(store.Sweeper).Sweep(t.Context(), func(object string) bool { return object == name }); err != nil {
			t.Error(err)
		}
		return unfinishedUploads(t, s)
	}
	if a, b, c := sweep("other"), sweep("new"), sweep("large"); a <= b || b <= c || c != 0 {
		t.Errorf("%d, %d and %d things that were begun are left", a, b, c)
	}
	killed, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.Put(t.Context(), "large", &pausing{noise(3, size), size / 2, func() { server.Kill(); close(killed) }}, size)
	}()
	<-killed
	time.Sleep(time.Second) // it is away
	server.Run()
	if err := <-done; err != nil {
		t.Fatalf("a server that was away for a second: %v", err)
	}
	same(t, s, "large", 3, size)
}

// same checks that an object is the noise of a seed.
func same(t *testing.T, s store.Store, name string, seed byte, size int64) {
	t.Helper()
	r, n, err := s.Get(t.Context(), name)
	if err != nil || n != size {
		t.Fatalf("%d bytes, %v", n, err)
	}
	got, want := sha256.New(), sha256.New()
	_, err1 := io.Copy(got, r)
	_, err2 := io.Copy(want, noise(seed, size))
	if err := errors.Join(err1, err2, r.Close()); err != nil || !slices.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Errorf("what is there is not what was put, %v", err)
	}
}

func unfinishedUploads(t *testing.T, s store.Store) (n int) {
	t.Helper()
	b := s.(*bucket)
	for u := range b.client.ListIncompleteUploads(t.Context(), b.name, b.prefix(), true) {
		if u.Err != nil {
			t.Fatal(u.Err)
		}
		n++
	}
	return n
}

package s3

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/store"
)

// fake is a server that speaks as much of S3's protocol as the store needs.
type fake struct {
	mu      sync.Mutex
	objects map[string][]byte // by path, bucket first
	signed  string            // what the last request was signed with
	broken  bool              // whatever is put is refused when half of it was read
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := strings.TrimPrefix(r.URL.Path, "/")
	f.signed = r.Header.Get("Authorization")
	q := r.URL.Query()
	switch {
	case !strings.Contains(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/"):
		fault(w, http.StatusForbidden, "AccessDenied")
	case r.Method == http.MethodGet && q.Has("location"):
		_, _ = io.WriteString(w, `<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></LocationConstraint>`)
	case r.Method == http.MethodGet && q.Has("list-type"):
		f.list(w, strings.Trim(key, "/")+"/", q.Get("prefix"))
	case r.Method == http.MethodPut:
		f.put(w, r, key)
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		f.get(w, r, key)
	}
}

func fault(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>"+code+"</Message></Error>")
}

func (f *fake) put(w http.ResponseWriter, r *http.Request, key string) {
	body, err := io.ReadAll(r.Body)
	if err == nil && strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		body, err = unchunk(body)
	}
	if err != nil || f.broken {
		fault(w, http.StatusBadRequest, "IncompleteBody")
		return
	}
	f.objects[key] = body
	w.Header().Set("ETag", etag(body))
}

func etag(b []byte) string {
	sum := md5.Sum(b)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

// unchunk reads S3's own encoding of signed pieces.
func unchunk(b []byte) (out []byte, err error) {
	for in := bufio.NewReader(bytes.NewReader(b)); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 64)
		if err != nil || n == 0 {
			return out, err
		}
		piece := make([]byte, n+2)
		if _, err := io.ReadFull(in, piece); err != nil {
			return nil, err
		}
		out = append(out, piece[:n]...)
	}
}

func (f *fake) get(w http.ResponseWriter, r *http.Request, key string) {
	body, ok := f.objects[key]
	if !ok {
		fault(w, http.StatusNotFound, "NoSuchKey")
		return
	}
	w.Header().Set("ETag", etag(body))
	http.ServeContent(w, r, "", time.Unix(1, 0), bytes.NewReader(body))
}

func (f *fake) list(w http.ResponseWriter, bucket, prefix string) {
	type entry struct {
		Key  string
		Size int
	}
	var out struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []entry
	}
	for key, body := range f.objects {
		if name, ok := strings.CutPrefix(key, bucket); ok && strings.HasPrefix(name, prefix) {
			out.Contents = append(out.Contents, entry{name, len(body)})
		}
	}
	slices.SortFunc(out.Contents, func(a, b entry) int { return strings.Compare(a.Key, b.Key) })
	_ = xml.NewEncoder(w).Encode(out)
}

// serve returns a store on a fake server.
func serve(t *testing.T) (store.Store, *fake) {
	t.Helper()
	f := &fake{objects: map[string][]byte{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s, err := store.Open("s3://" + strings.TrimPrefix(server.URL, "http://") + "/bucket/runs?insecure=true")
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

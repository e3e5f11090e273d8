// Package s3 is the store in a bucket of an S3-compatible object store. To import it is
// to have store.Open know addresses that begin with s3://.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/weft-rl/weft/internal/run/store"
)

// bucket is the store in a bucket. The object store makes an object visible when all
// of it has arrived.
type bucket struct {
	client *minio.Client
	name   string
	folder string
}

func init() { store.Register("s3", open) }

func open(at store.Address) (store.Store, error) {
	client, err := minio.New(at.Host, &minio.Options{
		Creds: credentials.NewEnvAWS(), Secure: at.Secure, BucketLookup: minio.BucketLookupPath,
		Region: os.Getenv("AWS_REGION"), // without one the server is asked
	})
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", at.Host, err)
	}
	return &bucket{client, at.Bucket, at.Folder}, nil
}

func (b *bucket) Under(folder string) store.Store {
	return &bucket{b.client, b.name, path.Join(b.folder, folder)}
}

// prefix returns what the keys of all objects begin with.
func (b *bucket) prefix() string {
	if b.folder == "" {
		return ""
	}
	return b.folder + "/"
}

func (b *bucket) key(name string) string { return path.Join(b.folder, name) }

// part is how much is sent at once. Whatever is larger is sent in parts, and is an
// object when all of them are there.
const part = 16 << 20

// Put keeps an object. What was not taken is sent again for a few seconds, so that a
// server may be away for a moment; therefore no more than a part is held in memory.
func (b *bucket) Put(ctx context.Context, name string, r io.Reader, size int64) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	if size <= part {
		body := make([]byte, size)
		if _, err := io.ReadFull(r, body); err != nil {
			return b.named(name, err)
		}
		if n, _ := r.Read(make([]byte, 1)); n > 0 {
			return b.named(name, fmt.Errorf("the object has more than the announced %d bytes", size))
		}
		r = bytes.NewReader(body)
	}
	_, err := b.client.PutObject(ctx, b.name, b.key(name), r, size, minio.PutObjectOptions{ContentType: "application/octet-stream", PartSize: part})
	return b.named(name, err)
}

// Sweep removes the parts of unfinished uploads. A server without multipart uploads has none.
func (b *bucket) Sweep(ctx context.Context, of func(object string) bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var errs []error
	for u := range b.client.ListIncompleteUploads(ctx, b.name, b.prefix(), true) {
		if u.Err != nil {
			return errors.Join(append(errs, b.named("uploads", u.Err))...)
		}
		if of(strings.TrimPrefix(u.Key, b.prefix())) {
			err := (minio.Core{Client: b.client}).AbortMultipartUpload(ctx, b.name, u.Key, u.UploadID)
			if err = b.named(u.Key, err); !errors.Is(err, store.ErrNone) { // else somebody else was faster
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if err := store.CheckName(name); err != nil {
		return nil, 0, err
	}
	o, err := b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return nil, 0, b.named(name, err)
	}
	info, err := o.Stat()
	if err != nil {
		return nil, 0, errors.Join(b.named(name, err), o.Close())
	}
	return o, info.Size, nil
}

func (b *bucket) List(ctx context.Context) (names []string, err error) {
	prefix := b.prefix()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, b.named(prefix, o.Err)
		}
		names = append(names, strings.TrimPrefix(o.Key, prefix))
	}
	slices.Sort(names)
	return names, nil
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	if err := store.CheckName(name); err != nil {
		return err
	}
	return b.named(name, b.client.RemoveObject(ctx, b.name, b.key(name), minio.RemoveObjectOptions{}))
}

// named says which object an error is about.
func (b *bucket) named(name string, err error) error {
	switch r := minio.ToErrorResponse(err); {
	case err == nil:
		return nil
	case r.StatusCode == http.StatusNotFound && r.Code != "NoSuchBucket":
		return fmt.Errorf("store: bucket %s: %s: %w", b.name, name, store.ErrNone)
	}
	return fmt.Errorf("store: bucket %s: %s: %w", b.name, name, err)
}

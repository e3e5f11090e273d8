package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is the store in a bucket. The object store makes an object visible when all
// of it has arrived.
type bucket struct {
	client *minio.Client
	name   string
	folder string
}

func openS3(host, name, folder string, secure bool) (Store, error) {
	client, err := minio.New(host, &minio.Options{Creds: credentials.NewEnvAWS(), Secure: secure, BucketLookup: minio.BucketLookupPath})
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", host, err)
	}
	return &bucket{client, name, folder}, nil
}

func (b *bucket) Under(folder string) Store {
	return &bucket{b.client, b.name, path.Join(b.folder, folder)}
}

func (b *bucket) key(name string) string { return path.Join(b.folder, name) }

func (b *bucket) Put(ctx context.Context, name string, r io.Reader, size int64) error {
	if err := check(name); err != nil {
		return err
	}
	_, err := b.client.PutObject(ctx, b.name, b.key(name), r, size, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	return b.named(name, err)
}

func (b *bucket) Get(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if err := check(name); err != nil {
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
	prefix := b.folder
	if prefix != "" {
		prefix += "/"
	}
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
	if err := check(name); err != nil {
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
		return fmt.Errorf("store: bucket %s: %s: %w", b.name, name, ErrNone)
	}
	return fmt.Errorf("store: bucket %s: %s: %w", b.name, name, err)
}

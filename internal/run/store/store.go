// Package store is where the checkpoints of a run on many processes are kept: a
// folder that all of them see, or an object store. An object is there as a whole or
// not at all, and is replaced in one step.
//
// Object stores register themselves, so that a program links only those that it
// imports; the command line imports all of them.
package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// ErrNone means that there is no object of that name.
var ErrNone = errors.New("no such object")

// Store keeps objects by name. Names are relative paths with slashes.
type Store interface {
	// Put keeps size bytes of r under a name, in place of what was there. When it
	// returns without an error they are safe; if it fails nothing has changed.
	Put(ctx context.Context, name string, r io.Reader, size int64) error
	// Get reads an object, and tells its size. Without one the error is ErrNone.
	Get(ctx context.Context, name string) (r io.ReadCloser, size int64, err error)
	// List are the names of all objects, sorted.
	List(ctx context.Context) ([]string, error)
	// Delete removes an object if it is there.
	Delete(ctx context.Context, name string) error
	// Under is the part of the store whose names begin with a folder's.
	Under(folder string) Store
}

// Address says where in an object store objects are.
type Address struct {
	Host   string // host, with a port or without
	Bucket string
	Folder string // prefix of the objects' names; may be empty
	Secure bool   // connections use TLS
}

// Opener opens an object store.
type Opener func(at Address) (Store, error)

var (
	registering sync.Mutex
	openers     = map[string]Opener{} // functions that open stores, by the scheme of addresses
)

// Register has Open open addresses of a scheme by open. Packages of object stores call it when they
// are imported.
func Register(scheme string, open Opener) {
	registering.Lock()
	defer registering.Unlock()
	openers[scheme] = open
}

// Open returns the store at a place: a folder's path, or, of an object store,
// s3://HOST[:PORT]/BUCKET[/FOLDER], whose keys the environment has
// (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_REGION). With ?insecure=true it
// is spoken to without TLS.
func Open(place string) (Store, error) {
	if !strings.HasPrefix(place, "s3://") {
		return Folder(place), nil
	}
	u, err := address(place)
	if err != nil {
		return nil, err
	}
	bucket, folder, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || bucket == "" {
		return nil, fmt.Errorf("store %s: it names no host and bucket; s3://HOST/BUCKET/FOLDER does", place)
	}
	registering.Lock()
	open := openers[u.Scheme]
	registering.Unlock()
	if open == nil {
		return nil, fmt.Errorf("store %s: this program cannot open it: add the import _ \"github.com/weft-rl/weft/app/%s\"", place, u.Scheme)
	}
	return open(Address{Host: u.Host, Bucket: bucket, Folder: folder, Secure: u.Query().Get("insecure") != "true"})
}

// Absolute returns a place as any process of this machine would name it.
func Absolute(place string) (string, error) {
	if strings.HasPrefix(place, "s3://") {
		_, err := address(place)
		return place, err
	}
	return filepath.Abs(place)
}

// address reads the address of an object store. It is written into a run's folder, told
// to workers and shown by ps, so that it may hold no keys; what is wrong with it is said
// without repeating them.
func address(place string) (*url.URL, error) {
	u, err := url.Parse(place)
	if err != nil {
		var bare *url.Error
		if errors.As(err, &bare) {
			err = bare.Err
		}
		return nil, fmt.Errorf("store: %w", err)
	}
	if u.User != nil {
		return nil, fmt.Errorf("store s3://%s: an address holds no keys, which everybody could read in the run's folder: put them into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", u.Host)
	}
	for key := range u.Query() {
		if key != "insecure" {
			return nil, fmt.Errorf("store s3://%s: it has no setting %q; there is insecure, and keys are in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", u.Host, key)
		}
	}
	return u, nil
}

// CheckName refuses names of objects that could lead elsewhere. Every store checks the names that
// it is given.
func CheckName(name string) error {
	if name == "" || name != path.Clean(name) || path.IsAbs(name) || name == "." || strings.HasPrefix(name, "..") || strings.Contains(name, "\\") {
		return fmt.Errorf("store: %q is not a name of an object", name)
	}
	return nil
}

// Sweeper is a store in which a process that dies can leave something half-written.
type Sweeper interface {
	// Sweep removes what was begun of objects that of names. Nobody may be writing them
	// whose object is still wanted.
	Sweep(ctx context.Context, of func(object string) bool) error
}

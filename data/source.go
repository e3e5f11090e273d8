package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Source is a data set of episodes. An author's own implements it; package datatest checks that it
// keeps to what is said here. Its methods may be called by several goroutines at once.
type Source interface {
	// Meta describes the set. It is the same at every call.
	Meta() Meta
	// Starts returns the first row of every episode, in order, and behind them the number of rows.
	// An episode of T steps has T+1 rows, so Starts()[i+1]-Starts()[i]-1 is the length of episode
	// i. The caller does not change the slice.
	Starts() []int64
	// Gather copies rows of a column into out, one behind the other, in the order of rows. out is
	// a slice of the column's type with exactly as many elements as that takes. Of the last row of
	// an episode only columns of observations are asked for.
	Gather(column int, rows []int64, out any) error
	// Close gives back what the source holds. Nothing is called afterwards.
	Close() error
}

// Distant is implemented by sources whose rows may have to be waited for, as those of a file that
// is larger than the memory, or of a database. The next batch is read from them while the loop
// computes with this one.
type Distant interface{ Distant() bool }

// Format is a form in which data sets are stored. Package data/parquet registers one.
type Format struct {
	Name  string
	Magic string // first bytes of its files
	Open  func(path string) (Source, error)
}

// Scheme opens sources by a prefix, as in "trades:2024": Open is given what follows the colon.
type Scheme struct {
	Prefix string
	Open   func(rest string) (Source, error)
}

var registry struct {
	sync.Mutex
	formats []Format
	schemes []Scheme
}

// RegisterFormat makes Open read files of a format.
func RegisterFormat(f Format) {
	registry.Lock()
	defer registry.Unlock()
	registry.formats = append(registry.formats, f)
}

// RegisterScheme makes Open open sources by a prefix. An author's package calls it in an init
// function, so that the set can be named on the command line.
func RegisterScheme(s Scheme) {
	registry.Lock()
	defer registry.Unlock()
	registry.schemes = append(registry.schemes, s)
}

// Registered reports whether a name begins with the prefix of a registered scheme.
func Registered(name string) bool {
	_, _, ok := scheme(name)
	return ok
}

func scheme(name string) (s Scheme, rest string, ok bool) {
	prefix, rest, found := strings.Cut(name, ":")
	registry.Lock()
	defer registry.Unlock()
	for _, s := range registry.schemes {
		if found && s.Prefix == prefix {
			return s, rest, true
		}
	}
	return Scheme{}, "", false
}

// Open opens the data set of a name: the path of a file in a registered format, or what a
// registered scheme offers.
func Open(name string) (Source, error) {
	if name == "" {
		return nil, errors.New("no data set is named: --data names one")
	}
	src, err := open(name)
	if err != nil {
		return nil, fmt.Errorf("data set %s: %w", name, err)
	}
	return src, nil
}

func open(name string) (Source, error) {
	if s, rest, ok := scheme(name); ok {
		return s.Open(rest)
	}
	head, err := magic(name)
	if err != nil {
		return nil, err
	}
	registry.Lock()
	formats := registry.formats
	registry.Unlock()
	for _, f := range formats {
		if bytes.HasPrefix(head, []byte(f.Magic)) {
			return f.Open(name)
		}
	}
	if bytes.HasPrefix(head, []byte("PAR1")) {
		return nil, errors.New("this program reads no Parquet files: import github.com/weft-rl/weft/data/parquet")
	}
	return nil, errors.New("it is no data set: weft data import makes one of NumPy archives, CSV and Minari's data sets")
}

// magic returns the first bytes of a file.
func magic(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, bare(err)
	}
	defer f.Close()
	head := make([]byte, 8)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, bare(err)
	}
	return head[:n], nil
}

// bare returns the reason of an error of the file system, whose path is named already.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// Package programtest makes small programs for tests, which cannot be run.
package programtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"testing"

	"github.com/weft-rl/weft/internal/run/part"
)

// New returns the bytes of something that begins as a program of this platform does, and goes on
// with a text.
func New(t testing.TB, text string) ([]byte, part.Program) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data := make([]byte, 20)
	if _, err := io.ReadFull(f, data); err != nil {
		t.Fatal(err)
	}
	data = append(data, text...)
	return data, Describe(data)
}

// Describe describes bytes as a program of this platform.
func Describe(data []byte) part.Program {
	sum := sha256.Sum256(data)
	return part.Program{Platform: part.Platform(), SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
}

// Open returns a function that opens bytes as a client's program is opened.
func Open(data []byte) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

package part

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// What is kept is what is read, and nothing older takes its place.
func TestCommitted(t *testing.T) {
	dir := t.TempDir()
	if c, err := ReadCommitted(dir); err != nil || !reflect.DeepEqual(c, Committed{}) {
		t.Errorf("of an empty folder: %+v, %v", c, err)
	}
	want := Committed{Epoch: 3, Shards: 2, Last: &Manifest{Epoch: 2, Step: 64, Object: "x", Size: 9, SHA256: "s", Place: "p"}}
	for _, c := range []Committed{
		{Epoch: 1}, want, {Epoch: 2, Last: &Manifest{Epoch: 2, Step: 99, Object: "y"}}, {Epoch: 3, Last: &Manifest{Epoch: 2, Step: 63, Object: "y"}}, {Epoch: 3},
	} {
		if err := c.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := ReadCommitted(dir); err != nil || !reflect.DeepEqual(c, want) {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.WriteFile(filepath.Join(dir, committedFile), []byte(`{"epoch":1,"last":{"epoch":2}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadCommitted(dir); err == nil {
		t.Errorf("nonsense was read: %+v", c)
	}
}

// Whatever a file says, it is taken or refused.
func FuzzCommitted(f *testing.F) {
	f.Add([]byte(`{"epoch":2,"shards":2,"last":{"epoch":1,"step":64,"object":"x","size":9,"sha256":"s"}}`))
	f.Add([]byte(`{"epoch":-1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parseCommitted(text); err == nil && (c.Epoch < 0 || c.Step() < 0) {
			t.Errorf("%+v", c)
		}
	})
}

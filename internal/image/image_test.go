package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// read returns the files of a tar, and the modes of its entries.
func read(t *testing.T, in io.Reader) (files map[string][]byte, modes map[string]int64) {
	t.Helper()
	files, modes = map[string][]byte{}, map[string]int64{}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files, modes
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[h.Name], modes[h.Name] = text, h.Mode
	}
}

// decode reads JSON.
func decode[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestWrite: an image is one that OCI's tools and docker load read: every blob has its digest, and
// the layer has the program and what it is linked with.
func TestWrite(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, again bytes.Buffer
	digest, err := Write(&out, Spec{Program: self, Tag: "registry/weft:1", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if other, err := Write(&again, Spec{Program: self, Tag: "registry/weft:1", Version: "v1"}); err != nil || other != digest || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("another image of the same program: %s, %v", other, err)
	}
	files, _ := read(t, &out)
	for name, text := range files {
		if hash, ok := strings.CutPrefix(name, "blobs/sha256/"); ok && hash != sum(text) {
			t.Errorf("%s has the hash %s", name, sum(text))
		}
	}
	index := decode[struct{ Manifests []descriptor }](t, files["index.json"])
	if index.Manifests[0].Digest != digest || index.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1" {
		t.Errorf("%+v", index)
	}
	m := decode[struct {
		Config descriptor
		Layers []descriptor
	}](t, files[blob(digest)])
	config := decode[struct {
		Config struct{ User string }
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}](t, files[blob(m.Config.Digest)])
	z, err := gzip.NewReader(bytes.NewReader(files[blob(m.Layers[0].Digest)]))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil || config.Config.User != "65532:65532" || config.Rootfs.DiffIDs[0] != "sha256:"+sum(plain) {
		t.Errorf("%+v, %v", config, err)
	}
	inside, modes := read(t, bytes.NewReader(plain))
	if program, _ := os.ReadFile(self); !bytes.Equal(inside["weft"], program) || modes["weft"] != 0o755 || modes["tmp/"] != 0o1777 {
		t.Errorf("%v", modes)
	}
	docker := decode[[]struct {
		Config   string
		RepoTags []string
		Layers   []string
	}](t, files["manifest.json"])
	if len(docker) != 1 || docker[0].RepoTags[0] != "registry/weft:1" || files[docker[0].Config] == nil || files[docker[0].Layers[0]] == nil {
		t.Errorf("%+v", docker)
	}
}

// TestWriteRefuses: what is no program for Linux is refused, with what to do.
func TestWriteRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "weft")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(io.Discard, Spec{Program: path}); err == nil || !strings.Contains(err.Error(), "GOOS=linux CGO_ENABLED=0 go build") {
		t.Error(err)
	}
}

func TestTagOf(t *testing.T) {
	for name, want := range map[string]string{"weft": "latest", "weft:1": "1", "host:5000/weft": "latest", "host:5000/weft:2": "2"} {
		if got := tagOf(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Package image writes container images without a container engine: one layer with a program and
// the libraries that it is linked with, in an archive that is both an OCI image layout and what
// docker load reads. The same program gives the same bytes.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"time"
)

// User is the user and the group that a container runs as.
const User = 65532

// Spec says what an image is made of.
type Spec struct {
	Program string // path of an executable for Linux; in the image it is /weft
	Tag     string // NAME:TAG that docker load gives the image
	Version string // version of the program, for the image's labels
}

// Media types of the OCI image specification.
const (
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type object = map[string]any

// descriptor refers to a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Write writes an image as an archive, and returns the digest of its manifest.
func Write(out io.Writer, s Spec) (digest string, err error) {
	p, err := open(s.Program)
	if err != nil {
		return "", err
	}
	plain, err := layer(p.files)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		return "", err
	}
	if err := z.Close(); err != nil {
		return "", err
	}
	blobs := map[string][]byte{}
	put := func(media string, text []byte) descriptor {
		d := descriptor{MediaType: media, Digest: "sha256:" + sum(text), Size: len(text)}
		blobs[d.Digest] = text
		return d
	}
	data := put(layerType, packed.Bytes())
	config := put(configType, encode(object{
		"architecture": p.arch, "os": "linux", "created": time.Unix(0, 0).UTC().Format(time.RFC3339),
		"config": object{
			"User": user(), "Entrypoint": []string{"/weft"}, "WorkingDir": "/tmp", "Env": []string{"PATH=/", "HOME=/tmp", "SSL_CERT_FILE=/" + trusted},
			"Labels": map[string]string{"org.opencontainers.image.title": "weft", "org.opencontainers.image.version": s.Version},
		},
		"rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + sum(plain)}},
	}))
	manifest := put(manifestType, encode(object{"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{data}}))
	named := manifest
	named.Annotations = map[string]string{"io.containerd.image.name": s.Tag, "org.opencontainers.image.ref.name": tagOf(s.Tag)}
	return manifest.Digest, archive(out, blobs, map[string][]byte{
		"oci-layout": encode(object{"imageLayoutVersion": "1.0.0"}),
		"index.json": encode(object{"schemaVersion": 2, "manifests": []descriptor{named}}),
		"manifest.json": encode([]object{{ // of docker load
			"Config": blob(config.Digest), "RepoTags": []string{s.Tag}, "Layers": []string{blob(data.Digest)},
		}}),
	})
}

// encode returns JSON of what JSON has words for.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // there are strings and numbers only
	}
	return text
}

func sum(text []byte) string {
	x := sha256.Sum256(text)
	return hex.EncodeToString(x[:])
}

// blob returns where a blob is in an archive.
func blob(digest string) string { return "blobs/sha256/" + digest[len("sha256:"):] }

// archive writes blobs and further files as a tar.
func archive(out io.Writer, blobs, files map[string][]byte) error {
	all := map[string][]byte{}
	for digest, text := range blobs {
		all[blob(digest)] = text
	}
	for name, text := range files {
		all[name] = text
	}
	w := tar.NewWriter(out)
	for _, name := range sorted(all) {
		if err := add(w, name, 0o644, all[name]); err != nil {
			return err
		}
	}
	return w.Close()
}

func sorted(all map[string][]byte) (out []string) {
	for name := range all {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// add adds a file to a tar.
func add(w *tar.Writer, name string, mode int64, text []byte) error {
	h := &tar.Header{Name: name, Mode: mode, Size: int64(len(text)), Typeflag: tar.TypeReg, Format: tar.FormatPAX, ModTime: time.Unix(0, 0)}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(text)
	return err
}

// layer returns a layer with files, and folders for them.
func layer(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	made := map[string]bool{}
	var folder func(name string, mode int64) error
	folder = func(name string, mode int64) error {
		if name == "." || made[name] {
			return nil
		}
		if err := folder(path.Dir(name), 0o755); err != nil {
			return err
		}
		made[name] = true
		return w.WriteHeader(&tar.Header{Name: name + "/", Mode: mode, Typeflag: tar.TypeDir, Format: tar.FormatPAX, ModTime: time.Unix(0, 0)})
	}
	if err := folder("tmp", 0o1777); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := folder(path.Dir(f.name), 0o755); err != nil {
			return nil, err
		}
		if err := add(w, f.name, f.mode, f.text); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// readable reads a file that may not be there.
func readable(paths ...string) []byte {
	for _, p := range paths {
		if text, err := os.ReadFile(p); err == nil {
			return text
		}
	}
	return nil
}

// here reports whether this machine has the libraries of a program for Linux and a processor.
func here(arch string) bool { return runtime.GOOS == "linux" && runtime.GOARCH == arch }

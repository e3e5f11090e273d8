package kubernetestest

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// boxVariable has the box that a process is to become.
const boxVariable = "WEFT_KUBERNETESTEST_BOX"

// box says what a container is.
type box struct {
	Root, Name, Hosts string
	Image             image
	User, Group       int
	ReadOnly          bool
	Line, Env         []string
	Mounts            []mount
}

type mount struct {
	From, To string
	ReadOnly bool
}

// image is an image whose layers are unpacked into a folder.
type image struct {
	Dir             string
	Entrypoint, Env []string
}

// Main returns at once, unless this process is to become a container: then it does. It is the first
// process of its own process ids, and has mounts of its own.
func Main() {
	text := os.Getenv(boxVariable)
	if text == "" {
		return
	}
	var b box
	err := json.Unmarshal([]byte(text), &b)
	if err == nil {
		err = b.enter()
	}
	fmt.Fprintln(os.Stderr, "the container cannot be started:", err)
	os.Exit(128)
}

// enter makes the container's file system and becomes its program.
func (b box) enter() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := os.MkdirAll(b.Root, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("root", b.Root, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	in := func(path string) string { return filepath.Join(b.Root, path) }
	err := filepath.WalkDir(b.Image.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(b.Image.Dir, path)
		if d.IsDir() {
			return errors.Join(err, os.MkdirAll(in(rel), 0o755))
		}
		return errors.Join(err, bind(path, in(rel), true))
	})
	slices.SortStableFunc(b.Mounts, func(x, y mount) int { return strings.Count(x.To, "/") - strings.Count(y.To, "/") }) // as runtimes do
	for _, m := range append([]mount{{b.Hosts, "/etc/hosts", true}, {"/dev/null", "/dev/null", false}, {"/dev/urandom", "/dev/urandom", true}}, b.Mounts...) {
		err = errors.Join(err, bind(m.From, in(m.To), m.ReadOnly))
	}
	err = errors.Join(err, os.MkdirAll(in("/proc"), 0o755), syscall.Mount("proc", in("/proc"), "proc", 0, ""))
	err = errors.Join(err, os.MkdirAll(in("/dev/shm"), 0o1777), syscall.Mount("shm", in("/dev/shm"), "tmpfs", 0, "mode=1777"))
	if b.ReadOnly {
		err = errors.Join(err, syscall.Mount("", b.Root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	}
	const noNewPrivileges = 38
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, noNewPrivileges, 1, 0, 0, 0, 0) // as allowPrivilegeEscalation: false says
	err = errors.Join(err, syscall.Chroot(b.Root), os.Chdir("/tmp"), syscall.Setgroups([]int{b.Group}), syscall.Setgid(b.Group), syscall.Setuid(b.User))
	if err != nil {
		return err
	}
	return syscall.Exec(b.Line[0], b.Line, b.Env)
}

// bind makes a file or a folder appear at another path.
func bind(from, to string, readOnly bool) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err == nil {
		err = syscall.Mount(from, to, "", syscall.MS_BIND, "")
	}
	if err == nil && readOnly {
		err = syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	return err
}

// unpack unpacks the image in an archive into a folder, as container runtimes do.
func unpack(archive, dir string) (i image, err error) {
	blobs := dir + "-blobs"
	if err := extract(archive, blobs, false); err != nil {
		return i, err
	}
	read := func(name string, v any) error {
		text, err := os.ReadFile(filepath.Join(blobs, name))
		if err != nil {
			return err
		}
		return json.Unmarshal(text, v)
	}
	type descriptor struct{ Digest string }
	at := func(d descriptor) string { return "blobs/" + strings.Replace(d.Digest, ":", "/", 1) }
	var index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var config struct {
		Config struct{ Entrypoint, Env []string }
	}
	if err := read("index.json", &index); err != nil {
		return i, err
	}
	if err := errors.Join(read(at(index.Manifests[0]), &manifest), read(at(manifest.Config), &config)); err != nil {
		return i, err
	}
	for _, l := range manifest.Layers {
		err = errors.Join(err, extract(filepath.Join(blobs, at(l)), dir, true))
	}
	return image{dir, config.Config.Entrypoint, config.Config.Env}, err
}

// extract unpacks a tar, which may be packed.
func extract(path, dir string, packed bool) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if packed {
		if in, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		to := filepath.Join(dir, h.Name)
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(to, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
			var out *os.File
			if out, err = os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, fs.FileMode(h.Mode)); err == nil {
				_, err = io.Copy(out, r)
				err = errors.Join(err, out.Close())
			}
		}
		if err != nil {
			return err
		}
	}
}

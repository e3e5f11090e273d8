package image

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// file is a file of an image. Its name has no slash at the beginning.
type file struct {
	name string
	mode int64
	text []byte
}

// program is an executable with all that it needs.
type program struct {
	arch  string
	files []file
}

// trusted is where the certificates of public authorities are, which an object store is known by.
const trusted = "etc/ssl/certs/ca-certificates.crt"

func user() string { return fmt.Sprintf("%d:%d", User, User) }

// tagOf returns the tag in NAME:TAG.
func tagOf(name string) string {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[i+1:]
	}
	return "latest"
}

// machines are Go's names of processors, by ELF's.
var machines = map[elf.Machine]string{elf.EM_X86_64: "amd64", elf.EM_AARCH64: "arm64"}

// open reads an executable and the libraries that it is linked with.
func open(path string) (p program, err error) {
	x, err := elf.Open(path)
	if errors.As(err, new(*elf.FormatError)) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return p, fmt.Errorf("%s is no program for Linux: build one with GOOS=linux CGO_ENABLED=0 go build ./cmd/weft, and name it with --program", path)
	}
	if err != nil {
		return p, err
	}
	defer x.Close()
	var known bool
	if p.arch, known = machines[x.Machine]; !known {
		return p, fmt.Errorf("%s is for %v: images are for amd64 and arm64", path, x.Machine)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	p.files = []file{
		{"weft", 0o755, text},
		{"etc/passwd", 0o644, fmt.Appendf(nil, "root:x:0:0:root:/:/none\nweft:x:%d:%d:weft:/tmp:/none\n", User, User)},
		{"etc/group", 0o644, fmt.Appendf(nil, "root:x:0:\nweft:x:%d:\n", User)},
	}
	if all := readable("/"+trusted, "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"); all != nil {
		p.files = append(p.files, file{trusted, 0o644, all})
	}
	loader, err := interpreter(x)
	if err != nil || loader == "" {
		return p, err
	}
	if !here(p.arch) {
		return p, fmt.Errorf("%s is linked with libraries of Linux on %s, which this machine does not have: write the image on such a machine", path, p.arch)
	}
	libraries, err := closure(x, filepath.Dir(loader))
	if err != nil {
		return p, err
	}
	for _, name := range append([]string{loader}, libraries...) {
		text, err := os.ReadFile(name)
		if err != nil {
			return p, err
		}
		p.files = append(p.files, file{strings.TrimPrefix(name, "/"), 0o755, text})
	}
	return p, nil
}

// interpreter returns the loader of an executable; empty if it is linked statically.
func interpreter(x *elf.File) (string, error) {
	for _, p := range x.Progs {
		if p.Type == elf.PT_INTERP {
			text, err := io.ReadAll(p.Open())
			return strings.TrimRight(string(text), "\x00"), err
		}
	}
	return "", nil
}

// closure returns the paths of all libraries that an executable needs, at which the loader finds
// them.
func closure(x *elf.File, lib string) (out []string, err error) {
	folders := []string{lib, "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
	for _, triple := range []string{"x86_64-linux-gnu", "aarch64-linux-gnu"} {
		folders = append(folders, "/lib/"+triple, "/usr/lib/"+triple)
	}
	wanted, err := x.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for seen := map[string]bool{}; len(wanted) > 0; {
		name := wanted[0]
		if wanted = wanted[1:]; seen[name] || strings.HasPrefix(name, "ld-linux") {
			continue
		}
		seen[name] = true
		path, more, err := library(name, folders)
		if err != nil {
			return nil, err
		}
		out, wanted = append(out, path), append(wanted, more...)
	}
	return out, nil
}

// library finds a library, and returns what it needs itself.
func library(name string, folders []string) (path string, needs []string, err error) {
	for _, dir := range folders {
		path := filepath.Join(dir, name)
		x, err := elf.Open(path)
		if err != nil {
			continue // not in this one
		}
		needs, err := x.ImportedLibraries()
		return path, needs, errors.Join(err, x.Close())
	}
	return "", nil, fmt.Errorf("the library %s, which the program is linked with, is in none of %s", name, strings.Join(folders, ", "))
}

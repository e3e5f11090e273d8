package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"time"
)

// file is a file of an archive.
type file struct {
	name string
	data []byte
	mode fs.FileMode
}

// pack returns an archive with a folder of some name: for Windows a zip, otherwise a tar.gz.
func pack(folder, system string, files []file, at time.Time) (name string, data []byte, err error) {
	for i := range files {
		files[i].name = folder + "/" + files[i].name
	}
	if system == "windows" {
		data, err = zipped(files, at)
		return folder + ".zip", data, err
	}
	data, err = tarred(files, at)
	return folder + ".tar.gz", data, err
}

// tarred returns files as a tar.gz. All have one time, and belong to nobody.
func tarred(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)), ModTime: at, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := errors.Join(w.Close(), z.Close())
	return b.Bytes(), err
}

// zipped returns files as a zip.
func zipped(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		out, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

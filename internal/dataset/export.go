package dataset

import (
	"archive/zip"
	"bytes"
	_ "embed" // of the script
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/data"
)

// writing makes a data set of Minari out of a NumPy archive.
//
//go:embed export.py
var writing string

// Export writes a data set for other programs: as a NumPy archive with D4RL's names, if out ends in
// .npz, or through Python as a data set of Minari, if out is minari:NAME. Import makes the same set
// of it again.
func Export(name, out, python string) (m data.Meta, err error) {
	s, err := data.Open(name)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m = s.Meta()
	if len(m.Obs.Leaves()) != 1 || len(m.Action.Leaves()) != 1 {
		return m, fmt.Errorf("data set %s: observations are %s, actions %s: only simple spaces are exported", name, m.Obs, m.Action)
	}
	if to, ok := strings.CutPrefix(out, "minari:"); ok {
		return m, exportMinari(s, to, python)
	}
	if filepath.Ext(out) != ".npz" {
		return m, fmt.Errorf("--out %s: a data set is exported as FILE.npz or minari:NAME", out)
	}
	return m, writeArchive(s, out)
}

// exportMinari writes a source as a data set of Minari.
func exportMinari(s data.Source, to, python string) error {
	dir, err := os.MkdirTemp("", "weft-export-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archive := filepath.Join(dir, "set.npz")
	if err := writeArchive(s, archive); err != nil {
		return err
	}
	if err := runPython(python, writing, archive, to); err != nil {
		return fmt.Errorf("minari:%s: %w", to, err)
	}
	return nil
}

// writeArchive writes a source as a NumPy archive. The file appears under its name when all of it
// is written.
func writeArchive(s data.Source, path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".weft-data-*")
	if err != nil {
		return err
	}
	z := zip.NewWriter(f)
	err = errors.Join(writeArrays(s, z), z.Close(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// writeArrays writes every column, and the description.
func writeArrays(s data.Source, z *zip.Writer) error {
	m := s.Meta()
	names := map[string]string{
		data.Obs: "observations", data.Action: "actions", data.Reward: "rewards", data.Terminated: "terminals", data.Truncated: "timeouts",
	}
	for i, c := range m.Columns() {
		name := c.Name
		if n, ok := names[name]; ok {
			name = n
		}
		if err := writeColumn(s, z, name, i, 0); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		if c.Name == data.Obs {
			if err := writeColumn(s, z, "next_observations", i, 1); err != nil {
				return fmt.Errorf("column %q: %w", c.Name, err)
			}
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	w, err := arrayIn(z, described, dtypes.Uint8, len(text))
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// writeColumn writes the rows of all steps in a column, or those that lie ahead rows behind them.
func writeColumn(s data.Source, z *zip.Writer, name string, column int, ahead int64) error {
	m, starts := s.Meta(), s.Starts()
	c := m.Columns()[column]
	w, err := arrayIn(z, name, c.Shape.DType, slices.Concat([]int{int(m.Steps)}, c.Shape.Dimensions)...)
	for e := 0; err == nil && e < len(starts)-1; e++ {
		var rows []int64
		for r := starts[e]; r < starts[e+1]-1; r++ {
			rows = append(rows, r+ahead)
		}
		out := dtypes.MakeAnySlice(c.Shape.DType, len(rows)*c.Shape.Size())
		if err = s.Gather(column, rows, out); err == nil {
			_, err = w.Write(dtypes.UnsafeByteSliceFromAny(out))
		}
	}
	return err
}

// descriptions are NumPy's names of types.
var descriptions = map[dtypes.DType]string{
	dtypes.Float32: "<f4", dtypes.Float64: "<f8", dtypes.Int32: "<i4", dtypes.Int64: "<i8", dtypes.Uint8: "|u1", dtypes.Bool: "|b1",
}

// arrayIn begins an array of an archive in NumPy's own format (NEP 1). Numbers lie on a multiple of
// 64 bytes.
func arrayIn(z *zip.Writer, name string, t dtypes.DType, dims ...int) (io.Writer, error) {
	w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err != nil {
		return nil, err
	}
	var shape strings.Builder
	for _, d := range dims {
		fmt.Fprintf(&shape, "%d,", d)
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descriptions[t], &shape)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	_, err = w.Write(bytes.Join([][]byte{[]byte("\x93NUMPY\x01\x00"), {byte(len(head)), byte(len(head) >> 8)}, []byte(head)}, nil))
	return w, err
}

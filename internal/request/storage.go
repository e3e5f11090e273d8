package request

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/rl"
)

// storage returns where the run's stores live; nil is memory.
func (r *Request) storage() (*rl.Storage, error) {
	kind, dir, named := strings.Cut(r.Storage, ":")
	switch {
	case r.Storage == "" || r.Storage == "memory":
		return nil, nil
	case kind != "disk" || named && dir == "":
		return nil, fmt.Errorf("--storage: %q is none of memory, disk and disk:DIR", r.Storage)
	}
	out := &rl.Storage{Dir: dir}
	if r.StorageLimit != "" {
		n, err := parseBytes(r.StorageLimit)
		if err != nil {
			return nil, fmt.Errorf("--storage-limit: %w", err)
		}
		out.Limit = n
	}
	return out, nil
}

// checkStorage reports what is wrong with where stores are to live.
func (r *Request) checkStorage(l Layers) (errs []error) {
	at, err := r.storage()
	switch {
	case err != nil:
		errs = append(errs, err)
	case at == nil && r.StorageLimit != "" && l.Value("storage_limit") != "":
		errs = append(errs, fmt.Errorf("--storage-limit: it is for replays on disk: add --storage disk"))
	case at != nil && r.Found.Policy.Lowered:
		errs = append(errs, fmt.Errorf("--storage: policy %s keeps replays on the device: choose another policy, or leave --storage at memory", r.Policy))
	case at != nil && at.Dir != "":
		if at.Dir, err = filepath.Abs(at.Dir); err != nil {
			errs = append(errs, fmt.Errorf("--storage: %w", err))
		}
		r.Storage = "disk:" + at.Dir // the run may be resumed from elsewhere
	}
	return errs
}

// units lists the units of sizes, longer names before those that they end in.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}, {"", 1},
}

// parseBytes reads a number of bytes, with a unit or without.
func parseBytes(text string) (int64, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(strings.TrimSpace(text), u.name)
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(x > 0) || x*u.bytes >= math.MaxInt64 {
			break
		}
		return int64(x * u.bytes), nil
	}
	return 0, fmt.Errorf("%q is no number of bytes: write it as 8GB, 500MB or 8GiB", text)
}

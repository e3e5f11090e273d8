package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
)

// recordFile is the newest part of a run's record.
const recordFile = "metrics.jsonl"

// tail bounds the bytes at the end of a record that are read for a summary.
const tail = 16 << 10

// read fills in a run's settings and what the end of its record says.
func (x *run) read(r root, old *run) error {
	if old != nil && old.config == x.config {
		x.Settings, x.file, x.Budget = old.Settings, old.file, old.Budget
	} else if err := x.readSettings(r); err != nil {
		return err
	}
	end, err := x.readTail(r)
	if err != nil || len(end) == 0 {
		return err
	}
	lines := bytes.Split(bytes.TrimRight(end, "\n"), []byte("\n"))
	for _, line := range slices.Backward(lines) {
		if x.Steps == 0 {
			if step, ok := field(line, "step"); ok && bytes.HasSuffix(line, []byte("}")) {
				x.Steps = int64(step)
				x.Seconds, _ = field(line, "seconds")
			}
		}
		if v, ok := field(line, "episode/return_mean"); ok && x.Return == nil {
			x.Return = &v
		}
		if v, ok := field(line, "eval/return"); ok && x.Eval == nil {
			x.Eval = &v
		}
	}
	return nil
}

func (x *run) readSettings(r root) error {
	text, err := r.ReadFile(path.Join(x.dir, request.ConfigFile))
	if err == nil {
		x.file, err = config.ParseYAML(text, request.ConfigFile)
	}
	x.Settings = map[string]string{}
	for _, a := range x.file {
		x.Settings[strings.TrimPrefix(a.Key, "set.")] = a.Value
	}
	x.Budget, _ = strconv.ParseInt(x.Settings["steps"], 10, 64)
	return err
}

// readTail returns the end of the record. Its first line may be cut.
func (x *run) readTail(r root) ([]byte, error) {
	f, err := r.Open(path.Join(x.dir, recordFile))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(max(0, x.metrics.size-tail), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, tail))
}

// field returns a number of a line of the record, as the record's writer spells it.
func field(line []byte, name string) (float64, bool) {
	quoted, err := json.Marshal(name)
	if err != nil {
		return 0, false
	}
	return after(line, append(quoted, ':'))
}

// after returns the number behind the first place where key stands.
func after(line, key []byte) (float64, bool) {
	i := bytes.Index(line, key)
	if i < 1 || line[i-1] != ',' && line[i-1] != '{' {
		return 0, false
	}
	rest := line[i+len(key):]
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return 0, false
	}
	x, err := strconv.ParseFloat(string(rest[:end]), 64)
	return x, err == nil
}

// records returns the files of a run's record, oldest first.
func (s *Site) records(x *run) ([]string, error) {
	f, err := s.roots[x.root].Open(x.dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	var out []string
	for _, n := range names {
		if strings.HasPrefix(n, "metrics.") && strings.HasSuffix(n, ".jsonl") && n != recordFile {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return append(out, recordFile), err
}

// eachLine calls do with every complete line of a run's record.
func (s *Site) eachLine(x *run, do func(line []byte)) error {
	names, err := s.records(x)
	if err != nil {
		return err
	}
	for _, n := range names {
		f, err := s.roots[x.root].Open(path.Join(x.dir, n))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		in := bufio.NewReaderSize(f, 64<<10)
		for {
			line, err := in.ReadBytes('\n')
			if err != nil {
				break // the last line is being written
			}
			do(line)
		}
		_ = f.Close() // it was only read
	}
	return nil
}

// metricNames returns the metrics in the tail of a record, sorted.
func (s *Site) metricNames(x *run) ([]string, error) {
	end, err := x.readTail(s.roots[x.root])
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range bytes.Lines(end) {
		var all map[string]any
		if json.Unmarshal(line, &all) != nil {
			continue // cut off
		}
		for name := range all {
			if name != "step" && name != "iter" && name != "seconds" && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

// filmKinds are the content types of films, by the ends of their names.
var filmKinds = map[string]string{".gif": "image/gif", ".mp4": "video/mp4"}

// films returns the films in a run's folder.
func (s *Site) films(x *run) []string {
	f, err := s.roots[x.root].Open(x.dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	names = slices.DeleteFunc(names, func(n string) bool { return filmKinds[path.Ext(n)] == "" })
	slices.Sort(names)
	return names
}

// file returns a file of a run's folder, if it is one that the page shows.
func (s *Site) file(x *run, name string) ([]byte, error) {
	if name != logFile && !slices.Contains(s.films(x), name) {
		return nil, fmt.Errorf("run %s has no file %q to show", x.Name, name)
	}
	return s.roots[x.root].ReadFile(path.Join(x.dir, name))
}

// logFile names the log of a run of a cluster.
const logFile = "log.txt"

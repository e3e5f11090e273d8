package metrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
)

// JSONL is a sink that writes one JSON object a line: step, iter, seconds,
// then the row's values in order. JSON has no NaN and no infinities; they are
// written as null. A file that has become large is closed and another one begun: Record
// says under which names.
type JSONL struct {
	out    journal
	record Record
	line   []byte
}

// OpenJSONL opens the record at path for a run that goes on after resumeStep:
// lines of later steps are removed, since those iterations will be done again,
// and so is a last line that was cut short. A resumeStep below zero starts
// anew, dropping whatever the record held.
func OpenJSONL(path string, resumeStep int64) (*JSONL, error) {
	r, err := rewound(path, resumeStep, true)
	if err != nil {
		return nil, err
	}
	return openRecord(r)
}

// OpenAt opens a record, cut at a position, which must be the end of a line.
func OpenAt(r Record, at int64) (*JSONL, error) {
	if err := r.Cut(at); err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	return openRecord(r)
}

func openRecord(r Record) (*JSONL, error) {
	j := &JSONL{record: r}
	if err := j.open(); err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	return j, nil
}

func (j *JSONL) open() (err error) {
	j.out.file, err = os.OpenFile(j.record.Path, os.O_WRONLY|os.O_APPEND, 0)
	return err
}

// rewound returns the record at path, cut behind a step.
func rewound(path string, step int64, all bool) (Record, error) {
	r, err := StatRecord(path)
	if step < 0 {
		r, err = Anew(path)
	}
	at := int64(0)
	if err == nil {
		at, err = r.Find(step, all)
	}
	if err == nil {
		err = r.Cut(at)
	}
	if err != nil {
		return r, fmt.Errorf("open metrics: %w", err)
	}
	return r, nil
}

// Anew removes the closed segments of a record that begins anew, whichever are there,
// the newest first, and returns the record that is left.
func Anew(path string) (Record, error) {
	names, err := closedSegments(path)
	for _, name := range slices.Backward(names) {
		err = errors.Join(err, os.Remove(name))
	}
	if err != nil {
		return Record{}, err
	}
	return StatRecord(path)
}

// Write appends the row as one line.
func (j *JSONL) Write(r Row) error {
	line, err := r.AppendJSON(j.line[:0])
	if err == nil {
		j.line = line
		err = j.out.append(line)
	}
	if err == nil {
		if j.record.Open += int64(len(line)); j.record.Full() {
			j.out.err = j.rotate()
			err = j.out.err
		}
	}
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// rotate closes the file and begins another.
func (j *JSONL) rotate() error {
	err := j.whole()
	if err = errors.Join(err, j.out.close()); err != nil {
		return err
	}
	if err := j.record.Rotate(); err != nil {
		return err
	}
	return j.open()
}

// Barrier checks that all rows that were written are still in their files, and returns a
// function that makes them durable. Another goroutine may call it.
func (j *JSONL) Barrier() (sync func() error, err error) {
	if err := j.whole(); err != nil {
		return nil, err
	}
	file := j.out.file
	return func() error {
		err := file.Sync()
		if errors.Is(err, os.ErrClosed) { // it was synced before it was closed
			return nil
		}
		return err
	}, nil
}

// Size returns the bytes of the record, its closed segments included.
func (j *JSONL) Size() int64 { return j.record.Size() }

// Last returns the newest row of the record; ok is false if there is none.
func (j *JSONL) Last() (row Row, ok bool, err error) { return j.record.Last() }

// whole returns an error if another program has removed something of the record.
func (j *JSONL) whole() error {
	if err := Same(j.out.file, j.record.Path); err != nil {
		return err
	}
	return j.record.Check(j.record.Size())
}

// Same reports whether an open file is still the one at path.
func Same(f *os.File, path string) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	there, err := os.Stat(path)
	if err == nil && !os.SameFile(mine, there) {
		return fmt.Errorf("%s was replaced while it was written: %d bytes of lines are lost", path, mine.Size())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was removed while it was written: %d bytes of lines are lost", path, mine.Size())
	}
	return err
}

// AppendJSON appends the row to b as a line of a JSONL file.
func (r Row) AppendJSON(b []byte) ([]byte, error) {
	if err := r.check(); err != nil {
		return b, err
	}
	return appendRow(b, r), nil
}

// Close makes the file durable and closes it. It fails if rows that were written are not
// in their files any more.
func (j *JSONL) Close() error {
	err := j.whole()
	if errors.Is(err, os.ErrClosed) {
		err = nil // which the file says itself
	}
	if err != nil {
		err = fmt.Errorf("close metrics: %w", err)
	}
	return errors.Join(err, j.out.close())
}

// ReadJSONL reads the rows of a record that a JSONL sink wrote or is writing, with its
// closed segments: a last line that is not yet complete is left out. What was written as
// null is NaN.
func ReadJSONL(path string) (rows []Row, err error) {
	r, err := StatRecord(path)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	for i := range len(r.Closed) + 1 {
		more, err := readRows(r.Segment(i))
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// readRows reads the rows of one file.
func readRows(path string) ([]Row, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read metrics: %w", err)
	}
	defer f.Close()
	var rows []Row
	err = eachLine(f, func(line []byte) error {
		r, err := parseRow(line)
		if err == nil {
			rows = append(rows, r)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read metrics: %s: %w", path, err)
	}
	return rows, nil
}

func appendRow(b []byte, r Row) []byte {
	b = strconv.AppendInt(append(b, `{"step":`...), r.Step, 10)
	b = strconv.AppendInt(append(b, `,"iter":`...), r.Iter, 10)
	b = appendNumber(append(b, `,"seconds":`...), r.Seconds)
	for _, v := range r.Values {
		name, _ := json.Marshal(v.Name) // a string cannot fail
		b = append(append(b, ','), name...)
		b = appendNumber(append(b, ':'), v.X)
	}
	return append(b, "}\n"...)
}

func appendNumber(b []byte, x float64) []byte {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}

// ParseRow reads a line of a record.
func ParseRow(line []byte) (Row, error) { return parseRow(line) }

// parseRow reads a line token by token, because decoding into a map would lose
// the order of the values.
func parseRow(line []byte) (Row, error) {
	step, err := parseStep(line)
	if err != nil {
		return Row{}, err
	}
	r := Row{Step: step}
	d := json.NewDecoder(bytes.NewReader(line))
	if _, err := d.Token(); err != nil { // the opening brace
		return Row{}, err
	}
	for d.More() {
		name, err := d.Token()
		if err == nil {
			err = r.parseField(d, name.(string))
		}
		if err != nil {
			return Row{}, err
		}
	}
	return r, r.check()
}

func (r *Row) parseField(d *json.Decoder, name string) error {
	switch name {
	case "step":
		return d.Decode(&r.Step)
	case "iter":
		return d.Decode(&r.Iter)
	}
	x := math.NaN() // null leaves it as it is
	if err := d.Decode(&x); err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	if name == "seconds" {
		r.Seconds = x
	} else {
		r.Values = append(r.Values, Value{name, x})
	}
	return nil
}

// parseStep checks that the line is one whole JSON object and reads its step.
func parseStep(line []byte) (int64, error) {
	var r struct{ Step *int64 }
	if err := json.Unmarshal(line, &r); err != nil {
		return 0, err
	}
	if r.Step == nil {
		return 0, errors.New(`no "step"`)
	}
	return *r.Step, nil
}

// eachLine calls parse with each line of r, without its newline. A line that
// lacks its newline and does not parse was cut short and is ignored.
func eachLine(r io.Reader, parse func(line []byte) error) error {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if last && len(line) == 0 {
			return nil
		}
		if err := parse(line); err != nil && !last {
			return fmt.Errorf("line %d is not a row of metrics (%w); mend or remove it", n, err)
		}
		if last {
			return nil
		}
	}
}

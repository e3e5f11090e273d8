package metrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// JSONL is a sink that writes one JSON object a line: step, iter, seconds,
// then the row's values in order. JSON has no NaN and no infinities; they are
// written as null.
type JSONL struct {
	out  journal
	line []byte
}

// OpenJSONL opens the file at path for a run that goes on after resumeStep:
// lines of later steps are removed, since those iterations will be done again,
// and so is a last line that was cut short. The file is replaced in one piece:
// a crash leaves the old one or the new one. A resumeStep below zero starts
// anew, dropping whatever the file held.
func OpenJSONL(path string, resumeStep int64) (*JSONL, error) {
	if err := RewindJSONL(path, resumeStep, true); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("open metrics: %w", err)
	}
	return &JSONL{out: journal{file: f}}, nil
}

// RewindJSONL does to a file what OpenJSONL does before it opens it. Unless all lines of
// the step itself are to stay, the first of them does alone: what came after it in the
// same step, such as an evaluation, will be done again.
func RewindJSONL(path string, step int64, all bool) error {
	if err := rewind(path, step, all); err != nil {
		return fmt.Errorf("open metrics: %w", err)
	}
	return nil
}

// Write appends the row as one line.
func (j *JSONL) Write(r Row) error {
	line, err := r.AppendJSON(j.line[:0])
	if err == nil {
		j.line = line
		err = j.out.append(line)
	}
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// AppendJSON appends the row to b as a line of a JSONL file.
func (r Row) AppendJSON(b []byte) ([]byte, error) {
	if err := r.check(); err != nil {
		return b, err
	}
	return appendRow(b, r), nil
}

// Close makes the file durable and closes it.
func (j *JSONL) Close() error { return j.out.close() }

// ReadJSONL reads the rows of a file that a JSONL sink wrote or is writing: a
// last line that is not yet complete is left out. What was written as null is
// NaN.
func ReadJSONL(path string) ([]Row, error) {
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

package metrics

import (
	"errors"
	"strings"
	"testing"
)

func TestRowCheck(t *testing.T) {
	tests := []struct {
		name  string
		names []string
		want  []string // parts of the error; none: no error
	}{
		{"good", []string{"loss/policy", "loss/value"}, nil},
		{"none", nil, nil},
		{"empty", []string{""}, []string{"value 0 has no name"}},
		{"encoding", []string{"a\xff"}, []string{"is not UTF-8"}},
		{"taken", []string{"step"}, []string{`"step" is taken`}},
		{"case", []string{"Seconds"}, []string{`"Seconds" is taken`}},
		{"twice", []string{"a", "b", "a"}, []string{`"a" occurs twice`}},
		{"all", []string{"", "iter"}, []string{"value 0", `"iter"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r Row
			for _, n := range tt.names {
				r.Values = append(r.Values, Value{Name: n})
			}
			err := r.check()
			if (err == nil) != (len(tt.want) == 0) {
				t.Fatalf("check() = %v", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("check() = %q, does not say %q", err, part)
				}
			}
		})
	}
}

type fakeSink struct {
	err    error
	steps  []int64
	closed bool
}

func (f *fakeSink) Write(r Row) error { f.steps = append(f.steps, r.Step); return f.err }
func (f *fakeSink) Close() error      { f.closed = true; return f.err }

func TestMulti(t *testing.T) {
	full := errors.New("disk full")
	bad, good := &fakeSink{err: full}, &fakeSink{}
	m := Multi(bad, good)
	if err := m.Write(Row{Step: 7}); !errors.Is(err, full) {
		t.Errorf("Write() = %v, want %v", err, full)
	}
	if err := m.Close(); !errors.Is(err, full) {
		t.Errorf("Close() = %v, want %v", err, full)
	}
	if len(good.steps) != 1 || good.steps[0] != 7 || !good.closed {
		t.Errorf("the sink after the failing one got %+v", good)
	}
	if err := Multi(good).Write(Row{}); err != nil {
		t.Errorf("Write() = %v without a failing sink", err)
	}
}

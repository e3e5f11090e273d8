package wire

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

func cpu(t testing.TB) *rl.Device {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// all has everything that crosses.
type all struct {
	Yes   bool
	Small int8
	Wait  time.Duration
	Of    [2]uint16
	Ratio float32
	Mean  float64
	Text  string
	Names []string
	None  []string
	Empty []struct{}
	Next  *inner
	Nil   *inner
	State []rl.Array
	inner
}

type inner struct{ hidden int64 }

// batch is a message of programs.
type batch struct {
	Obs    rl.Tree
	Reward rl.Tensor
	Absent rl.Tensor
	Rows   []rl.Tensor
}

// whole returns a message as bytes in one piece.
func whole(t testing.TB, m edge.Message) (out []byte) {
	t.Helper()
	var e Encoder
	pieces, err := e.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pieces {
		out = append(out, p.Bytes...)
	}
	return out
}

// cross sends a message through bytes, which begin so many off a line.
func cross(t *testing.T, m edge.Message, off int) edge.Message {
	t.Helper()
	sent := whole(t, m)
	to := Memory(len(sent) + off)[off:]
	copy(to, sent)
	got, err := Decode(to, cpu(t))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestValues(t *testing.T) {
	v := all{
		Yes: true, Small: -128, Wait: time.Hour, Of: [2]uint16{1, 65535}, Ratio: 1.5, Mean: math.Inf(-1), Text: "é",
		Names: []string{"", "b"}, Empty: make([]struct{}, 3), Next: &inner{7}, inner: inner{-9},
		State: []rl.Array{
			{Name: "x", Shape: shapes.Make(dtypes.Int64, 2), Flat: []int64{5, -6}, Rows: true},
			{Name: "none", Shape: shapes.Make(dtypes.Float32, 0, 4), Flat: []float32{}},
		},
	}
	for _, off := range []int{0, 1, 7} {
		m := cross(t, edge.Message{Value: v, Versions: []int64{1, -2}, Iter: 9, Steps: 1 << 40}, off)
		if !slices.Equal(m.Versions, []int64{1, -2}) || m.Iter != 9 || m.Steps != 1<<40 {
			t.Errorf("%+v", m)
		}
		if got := edge.As[all](m.Value); !reflect.DeepEqual(got, v) {
			t.Errorf("%d off:\n got %+v\nwant %+v", off, got, v)
		}
	}
	if m := cross(t, edge.Message{Iter: 3}, 5); m.Value != nil || m.Iter != 3 {
		t.Errorf("nothing became %+v", m)
	}
}

func TestTensors(t *testing.T) {
	s := rl.NewScope(cpu(t), 1)
	large := make([]float32, 3000) // is not copied when it is sent
	for i := range large {
		large[i] = float32(i) / 3
	}
	v := batch{
		Obs:    rl.NewTree([]string{"a", "b"}, []rl.Tensor{rl.FromFlat(s, large, 3, 1000), rl.FromFlat(s, []uint8{1, 2, 3}, 3)}),
		Reward: rl.Scalar(2),
		Rows:   []rl.Tensor{rl.FromFlat(s, []bool{true, false}, 2), rl.FromFlat(s, []float64{}, 0, 2), rl.FromFlat(s, large, 3000)},
	}
	for _, off := range []int{0, 13} {
		got := edge.As[batch](cross(t, edge.Message{Value: v}, off).Value)
		a, b := rl.Leaves(got), rl.Leaves(v)
		if !slices.Equal(got.Obs.Names(), v.Obs.Names()) || len(a) != len(b) {
			t.Fatalf("%v, want %v", got, v)
		}
		for i := range a {
			if a[i].Ok() != b[i].Ok() {
				t.Fatalf("tensor %d: %v, want %v", i, a[i], b[i])
			}
			if a[i].Ok() && (!a[i].Shape().Equal(b[i].Shape()) || !slices.Equal(rl.System.Bytes(a[i]), rl.System.Bytes(b[i]))) {
				t.Errorf("tensor %d: %v, want %v", i, a[i], b[i])
			}
		}
	}
}

// TestNotCopied: what is large is sent from where it lies, and stays where it arrived.
func TestNotCopied(t *testing.T) {
	s := rl.NewScope(cpu(t), 1)
	x := rl.FromFlat(s, make([]float32, 1<<16), 1<<16)
	var e Encoder
	sent, err := e.Encode(edge.Message{Value: x})
	if err != nil {
		t.Fatal(err)
	}
	if len(sent) != 2 || &sent[1].Bytes[0] != &rl.System.Bytes(x)[0] || sent[1].Owner == nil {
		t.Error("a large tensor was copied")
	}
	to := Memory(len(sent[0].Bytes) + len(sent[1].Bytes))
	copy(to[copy(to, sent[0].Bytes):], sent[1].Bytes)
	m, err := Decode(to, cpu(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := rl.System.Bytes(edge.As[rl.Tensor](m.Value)); &got[len(got)-1] != &to[len(to)-1] {
		t.Error("a tensor that arrived was copied")
	}
}

func TestRefused(t *testing.T) {
	type loop struct{ Next *loop }
	for name, v := range map[string]any{
		"map": map[string]int{}, "any": struct{ X any }{1}, "loop": loop{}, "func": func() {}, "chan": make(chan int),
	} {
		if _, err := new(Encoder).Encode(edge.Message{Value: v}); err == nil || !strings.Contains(err.Error(), "cross processes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWrong: what does not fit is an error, and nothing of it is left in the receiver's
// value.
func TestWrong(t *testing.T) {
	v := inner{3}
	m := cross(t, edge.Message{Value: all{}}, 100)
	if err := m.Value.(edge.Encoded).Decode(&v); !errors.Is(err, ErrMalformed) || v.hidden != 3 {
		t.Errorf("another type: %v, %v", err, v)
	}
	if err := m.Value.(edge.Encoded).Decode(&v); err == nil {
		t.Error("a value was had twice")
	}
	s := rl.NewScope(cpu(t), 1)
	whole := whole(t, edge.Message{Value: batch{Reward: rl.FromFlat(s, make([]float32, 5000), 5000)}})
	for n := range whole {
		if n > 200 && n%1000 != 0 {
			continue
		}
		if err := read(whole[:n], cpu(t)); err == nil {
			t.Errorf("%d of %d bytes were a message", n, len(whole))
		}
	}
	if err := read(append(slices.Clone(whole), 0), cpu(t)); err == nil {
		t.Error("a byte too many was not seen")
	}
}

// read decodes all of a message.
func read(b []byte, d *rl.Device) error {
	m, err := Decode(slices.Clone(b), d)
	if err != nil || m.Value == nil {
		return err
	}
	var v batch
	if err = m.Value.(edge.Encoded).Decode(&v); err != nil && v.Reward.Ok() {
		return nil // half of it is there
	}
	return err
}

// FuzzDecode: hostile bytes are errors. What is a message is the same when it is
// written again.
func FuzzDecode(f *testing.F) {
	d := cpu(f)
	s := rl.NewScope(d, 1)
	for _, v := range []any{
		batch{}, all{}, nil,
		batch{Obs: rl.One(rl.FromFlat(s, []float32{1, 2}, 2)), Reward: rl.Scalar(1), Rows: []rl.Tensor{rl.FromFlat(s, []int64{1, 2, 3, 4}, 2, 2)}},
		all{Names: []string{"x"}, Next: &inner{1}, State: []rl.Array{{Name: "x", Shape: shapes.Make(dtypes.Int64, 1), Flat: []int64{5}}}},
	} {
		f.Add(whole(f, edge.Message{Value: v, Versions: []int64{1}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, err := Decode(slices.Clone(b), d); err == nil && m.Value != nil {
			var v all
			if m.Value.(edge.Encoded).Decode(&v) == nil {
				again(t, edge.Message{Value: v})
			}
		}
		if m, err := Decode(slices.Clone(b), d); err == nil && m.Value != nil {
			var v batch
			if m.Value.(edge.Encoded).Decode(&v) == nil {
				again(t, edge.Message{Value: v})
			}
		}
	})
}

func again(t *testing.T, m edge.Message) {
	if _, err := new(Encoder).Encode(m); err != nil {
		t.Error(err)
	}
}

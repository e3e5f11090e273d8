//go:build unix

package gym

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/env"
)

// answering returns a worker that says what is given, and then nothing more.
func answering(t testing.TB, said []byte) *worker {
	t.Helper()
	from, theirs, err := pipe(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeFD(from) })
	if _, err := theirs.Write(said); err != nil { // a pipe holds that much
		t.Fatal(err)
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	return &worker{rows: 2, timeout: time.Second, to: -1, from: from}
}

// framed returns a message as a worker sends it.
func framed(kind byte, data string) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(data))), data...)
}

// TestSenseless: what no environment needs is refused in a sentence, before there is
// memory for it.
func TestSenseless(t *testing.T) {
	huge := []byte{'j', 255, 255, 255, 255}
	for _, c := range []struct {
		said []byte
		ask  func(*worker) error
		want string
	}{
		{huge, received, "an answer of 4294967295 bytes, where 0 to 67108864 are expected"},
		{framed('j', "{"), received, "an answer that is not understood"},
		{append([]byte{'e'}, huge[1:]...), received, "an answer of 4294967295 bytes"},
		{[]byte("hello"), received, "something out of turn ('h')"},
		{framed('j', `{"sizes":[1]}`), states, "1 states of 2 environments"},
		{framed('j', `{"sizes":[-1,2]}`), states, "a state of environment 0 of -1 bytes"},
		{framed('j', `{"sizes":[1,999999999]}`), states, "a state of environment 1 of 999999999 bytes, where one that shows 10 may have 67109504"},
		{append(framed('j', `{"sizes":[1,2]}`), framed('b', "ab")...), states, "an answer of 2 bytes, where 3 to 3 are expected"},
		{framed('j', `{"shape":[3]}`), pictured, "a picture of shape [3]"},
		{framed('j', `{"shape":[1000000,1000000,3]}`), pictured, "a picture of shape [1000000 1000000 3]"},
		{append(framed('j', `{"shape":[2,2,3]}`), framed('b', "abc")...), pictured, "an answer of 3 bytes, where 12 to 12 are expected"},
	} {
		if err := c.ask(answering(t, c.said)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "Python worker 0, with environments 0 to 1, sends ") {
			t.Errorf("%q: %v, want %q", c.said, err, c.want)
		}
	}
	w := answering(t, append(framed('j', `{"sizes":[1,2]}`), framed('b', "abc")...))
	if got, err := w.saved(10); err != nil || len(got) != 2 || string(got[0]) != "a" || string(got[1]) != "bc" {
		t.Errorf("%q, %v", got, err)
	}
}

func received(w *worker) error { return w.receive(&description{}) }

func states(w *worker) error {
	_, err := w.saved(10)
	return err
}

func pictured(w *worker) error {
	_, err := w.drawn()
	return err
}

// FuzzAnswer: whatever a Python process writes into its pipe, it is an answer or an error.
func FuzzAnswer(f *testing.F) {
	for _, said := range [][]byte{
		framed('j', "{}"), framed('e', `{"env":1,"step":3,"text":"x","traceback":"y"}`), []byte("k"),
		append(framed('j', `{"sizes":[1,2]}`), framed('b', "abc")...), append(framed('j', `{"shape":[1,2,3]}`), framed('b', "abcdef")...),
	} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		if len(said) > 32<<10 {
			return
		}
		for _, ask := range []func(*worker) error{received, states, pictured, func(w *worker) error { return w.finish(time.Now().Add(time.Second)) }} {
			if err := ask(answering(t, said)); err != nil && err.Error() == "" {
				t.Error("an error without a word")
			}
		}
	})
}

// FuzzDescription: whatever a worker says of its environments, they are refused, or have
// a place in shared memory.
func FuzzDescription(f *testing.F) {
	f.Add([]byte(`{"kinds":[{"agents":["a"],"obs":[{"type":"box","dtype":"float32","dims":[4],"low":[null],"high":[1]}],"action":[{"type":"discrete","n":2}]}],"exact":true}`))
	f.Add([]byte(`{"kinds":[{"name":"x","agents":["a","b"],"masked":true,"obs":[{"name":"o","type":"multi_binary","n":3}],"action":[{"name":"u","type":"multi_discrete","n":[2,3]}]}],"mortal":[true],"turns":true,"state":7}`))
	f.Add([]byte(`{"kinds":[{"agents":["a"],"obs":[{"type":"box","dtype":"uint8","dims":[99999999,99999999,-1]}],"action":[{"type":"discrete","n":1e300}]}],"state":9223372036854775807}`))
	f.Add([]byte(`{"kinds":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d description
		if json.Unmarshal(text, &d) != nil {
			return
		}
		b := &batch{spec: env.Spec{ID: "x", Block: 1, Envs: 3, Rows: 3}}
		b.options.Exact = true
		if b.describe(d) != nil {
			return
		}
		if l := layoutOf(b.specs); l.size < 1 || float64(l.size) > 2*maxShared || l.row() < 1 {
			t.Errorf("%s takes %d bytes", text, l.size)
		}
	})
}

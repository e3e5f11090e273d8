package control

import (
	"bytes"
	"reflect"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/run/part"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCodec(t *testing.T) {
	for _, m := range []any{
		&Up{Kind: KindCommit, Seq: 3, Run: "r", Epoch: 2, Manifest: &part.Manifest{Epoch: 2, Step: 7}},
		&Up{Kind: KindRecord, Offset: 9, Tail: []byte("{\"step\":1}\n\xff\x00")},
		&Down{Kind: KindAssign, Me: 4, Tail: bytes.Repeat([]byte("x"), 1<<20)},
		&Submit{Version, "r", "config"}, &OK{}, &Status{Coordinator: "a"},
	} {
		data, err := codec{}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(m).Elem()).Interface()
		if err := (codec{}).Unmarshal(data, got); err != nil || !reflect.DeepEqual(got, m) {
			t.Errorf("%+v came back as %+v, %v", m, got, err)
		}
	}
	if _, err := (codec{}).Marshal(&Down{Tail: make([]byte, MaxMessage)}); err == nil {
		t.Error("it would send a message that is too large")
	}
}

// Whatever comes from the network is a message or an error.
func FuzzUnmarshal(f *testing.F) {
	for _, m := range []any{&Up{Kind: KindHello, Hello: &Hello{Name: "a", Devices: []string{"cpu"}}}, &Up{Tail: []byte("x")}, &OK{}} {
		data, err := codec{}.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range []any{new(Up), new(Down), new(Submit), new(Named), new(Status), new(Chunk)} {
			if codec.Unmarshal(codec{}, data, m) != nil {
				continue
			}
			again, err := codec{}.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if err := (codec{}).Unmarshal(again, m); err != nil {
				t.Fatal(err)
			}
		}
	})
}

package protocol

import (
	"bytes"
	"reflect"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCodec(t *testing.T) {
	for _, m := range []any{
		&Up{Kind: KindCommit, Seq: 3, Run: "r", Epoch: 2, Manifest: &part.Manifest{Epoch: 2, Step: 7}},
		&Up{Kind: KindRecord, Offset: 9, Tail: []byte("{\"step\":1}\n\xff\x00")},
		&Down{Kind: KindAssign, Me: 4, Tail: bytes.Repeat([]byte("x"), 1<<20)},
		&Submit{Version, "r", "1", "config", []part.Program{{Platform: "linux/amd64", SHA256: "x", Size: 1}}, true, true, true, true}, &Stage{Version: Version, Tail: []byte("\x7fELF")}, &OK{}, &Status{Coordinator: "a"},
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
		for _, m := range []any{new(Up), new(Down), new(Submit), new(Named), new(Status), new(Chunk), new(OK), new(core.Run)} {
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

func TestPack(t *testing.T) {
	a := part.Assignment{Run: "r", Epoch: 3, Config: "x", Workers: []part.Worker{{Name: "a"}, {Name: "b"}}}
	data, err := Pack(a)
	if err != nil {
		t.Fatal(err)
	}
	for me, ok := range map[int]bool{0: true, 1: true, 2: false, -1: false} {
		a.Me = me
		if got, err := Unpack(data, me); (err == nil) != ok || ok && !reflect.DeepEqual(got, a) {
			t.Errorf("part %d: %+v, %v", me, got, err)
		}
	}
	if _, err := Unpack(data[:len(data)/2], 0); err == nil {
		t.Error("half of an assignment is taken for one")
	}
}

// Whatever comes as an assignment is one or an error, of a bounded size.
func FuzzUnpack(f *testing.F) {
	data, err := Pack(part.Assignment{Run: "r", Workers: []part.Worker{{Name: "a"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data, 0)
	f.Add([]byte("garbage"), 1)
	f.Fuzz(func(t *testing.T, data []byte, me int) {
		if a, err := Unpack(data, me); err == nil && (a.Me < 0 || a.Me >= len(a.Workers)) {
			t.Errorf("part %d of %d", a.Me, len(a.Workers))
		}
	})
}

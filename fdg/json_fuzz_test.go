package fdg_test

import (
	"bytes"
	"testing"

	"github.com/weft-rl/weft/fdg"
)

// FuzzReadJSON: whatever comes as a graph is one that is written as it was read, or an
// error.
func FuzzReadJSON(f *testing.F) {
	var sample bytes.Buffer
	if err := small().WriteJSON(&sample); err != nil {
		f.Fatal(err)
	}
	f.Add(sample.Bytes())
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := fdg.ReadJSON(bytes.NewReader(data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := g.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		first := out.String()
		again, err := fdg.ReadJSON(&out)
		if err != nil {
			t.Fatalf("%v: %s", err, first)
		}
		if out.Reset(); again.WriteJSON(&out) != nil || out.String() != first {
			t.Errorf("%s became %s", first, out.String())
		}
	})
}

package debug_test

import (
	"testing"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/data/datatest"
	_ "github.com/weft-rl/weft/data/debug"
)

func TestSets(t *testing.T) {
	for _, name := range []string{"identity", "identity-mixed", "continuous", "continuous-mixed"} {
		t.Run(name, func(t *testing.T) {
			src, err := data.Open("debug:" + name)
			if err != nil {
				t.Fatal(err)
			}
			datatest.Check(t, src)
		})
	}
	if _, err := data.Open("debug:nothing"); err == nil {
		t.Error("a set is opened that does not exist")
	}
}

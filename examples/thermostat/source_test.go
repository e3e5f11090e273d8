package thermostat

import (
	"testing"

	"github.com/weft-rl/weft/data/datatest"
)

func TestJournal(t *testing.T) {
	l, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	datatest.Check(t, l)
}

package cost_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/weft-rl/weft/internal/cost"
)

// TestPrint: the first five candidates, why the first one wins, and what was passed over.
func TestPrint(t *testing.T) {
	c := cost.Choice{Passed: []string{"gpu-only: it is one device program: name it to have it"}, Recording: 1.25, Planning: .031}
	for i, name := range []string{"single-learner-fine", "single-learner-fine", "single-learner-coarse", "plain", "mine", "mine"} {
		c.Candidates = append(c.Candidates, cost.Candidate{
			Policy: name, Workers: 4 - i%4, Pipeline: i == 0,
			Prediction: cost.Prediction{Seconds: .0123 * float64(i+1), StepsPerSecond: 1000 / float64(i+1), Bound: "learner 0, which computes 98 % of the time"},
		})
	}
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/choice.txt")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s", b.String())
	}
}

package cost_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/cost"
)

// TestExamples: the clusters that come with Weft can be read, and are as large as they say.
func TestExamples(t *testing.T) {
	for name, want := range map[string][2]int{"laptop": {8, 1}, "gpus": {64, 8}, "cores": {10_048, 157}, "spot": {512, 32}} {
		c, err := cost.ReadCluster(name)
		if err != nil {
			t.Fatal(err)
		}
		if n := c.Workers(); n != want[0] || c.Machines(n) != want[1] {
			t.Errorf("%s: %d workers on %d machines", name, n, c.Machines(n))
		}
		if err := c.Site(c.Workers()).Cluster.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(cost.Examples()); n != 4 {
		t.Errorf("%v", cost.Examples())
	}
}

// TestClusterMistakes: all that is wrong with a file is reported at once.
func TestClusterMistakes(t *testing.T) {
	_, err := cost.ParseCluster([]byte("machines:\n  a: {cores: 0, coers: 2}\nnetwork: {bandwidth: -1}\nprice: 3\n"), "c.yaml")
	for _, want := range []string{"cores: 0 is outside", `unknown setting "coers"`, "bandwidth: -1 is outside", "price is neither of machines"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err = cost.ReadCluster("nowhere"); err == nil || !strings.Contains(err.Error(), "cores, gpus, laptop, spot") {
		t.Errorf("%v", err)
	}
}

// TestGoodput: by hand. Two machines that fail every 1000 s each fail every 500 s together; with
// 10 s for a checkpoint the best interval is sqrt(2*10*500) = 100 s. That costs 10/100 for
// checkpoints and (100/2 + 20)/500 for failures.
func TestGoodput(t *testing.T) {
	c, err := cost.ParseCluster([]byte("machines:\n  a: {count: 4, cores: 2, price: 3, lifetime: 0.2777777777777778}\ncheckpoint: {write: 10s, restart: 20s}\n"), "c.yaml")
	if err != nil {
		t.Fatal(err)
	}
	part, interval := c.Goodput(4)
	near(t, "interval", interval, 100)
	near(t, "goodput", part, 1-.1-.14)
	near(t, "price", c.Price(3), 6)
	c.Kinds[0].Lifetime = 0
	if part, interval = c.Goodput(4); part != 1 || interval != 0 {
		t.Errorf("%v, %v where nothing fails", part, interval)
	}
}

// TestSweepPrint: the table, where curves bend, what is fastest and what cheapest.
func TestSweepPrint(t *testing.T) {
	s := cost.Sweep{Passed: []string{"gpu-only: it is one device program: name it to have it"}}
	for i, steps := range []float64{1000, 1900, 3400, 3900} {
		n := 1 << i
		s.Points = append(s.Points, cost.Point{
			Policy: "single-learner-coarse", Workers: n, Machines: (n + 1) / 2, Efficiency: steps / 1000 / float64(n), Price: float64(n) / steps * 100, Goodput: .98, Interval: 600,
			Prediction: cost.Prediction{Seconds: 100 / steps, StepsPerSecond: steps, Used: .5, Bound: "learner 0, which computes 98 % of the time"},
		})
	}
	var b, svg bytes.Buffer
	if err := s.Print(&b); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/sweep.txt")
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s", b.String())
	}
	if err := s.WriteSVG(&svg, "ppo on spot"); err != nil || !strings.Contains(svg.String(), "price of a million steps") {
		t.Errorf("%v", err)
	}
}

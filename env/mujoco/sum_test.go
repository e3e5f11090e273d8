package mujoco

import "testing"

// TestSum: the order of additions shows in what is rounded away. The wanted
// numbers are NumPy's for 1/(i+1) in single precision.
func TestSum(t *testing.T) {
	for _, x := range []struct {
		n    int
		want float32
	}{{3, 1.8333334}, {7, 2.5928574}, {8, 2.7178574}, {17, 3.4395528}, {84, 5.013973}, {128, 5.4331474}, {129, 5.4409}, {300, 6.282665}, {1000, 7.4854717}} {
		got := sum(0, x.n, func(i int) float32 { return 1 / float32(i+1) })
		if got != x.want {
			t.Errorf("sum of %d numbers is %v, NumPy's %v", x.n, got, x.want)
		}
	}
}

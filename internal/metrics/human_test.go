package metrics

import (
	"math"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	tests := []struct {
		n    float64
		want string
	}{
		{0, "0"}, {7, "7"}, {999, "999"}, {1000, "1k"}, {1234, "1.23k"}, {12345, "12.3k"}, {500_000, "500k"},
		{999_499, "999k"}, {999_500, "1M"}, {999_999, "1M"}, {1_200_000, "1.2M"}, {2.9e9, "2.9G"}, {1e12, "1T"},
		{3.21987, "3.22"}, {0.5, "0.5"}, {999.7, "1k"}, {-12345, "-12.3k"}, {1e15, "1.0e+15"},
		{math.NaN(), "-"}, {math.Inf(1), "inf"}, {math.MaxFloat64, "1.8e+308"},
	}
	for _, tt := range tests {
		if got := Count(tt.n); got != tt.want {
			t.Errorf("Count(%v) = %q, want %q", tt.n, got, tt.want)
		}
	}
	if got := Count(int64(math.MaxInt64)); got != "9.2e+18" {
		t.Errorf("Count(MaxInt64) = %q", got)
	}
}

func TestNumber(t *testing.T) {
	tests := []struct {
		x    float64
		want string
	}{
		{0, "0"}, {1, "1.000"}, {9.9999, "10.00"}, {195.34, "195.3"}, {-195.34, "-195.3"}, {1953.4, "1953"},
		{19534, "19534"}, {99999.6, "100k"}, {123456, "123k"}, {0.5, "0.5000"}, {-0.01234, "-0.0123"}, {0.001, "0.0010"},
		{0.0005, "5.0e-04"}, {-1.26e-5, "-1.3e-05"}, {1e30, "1.0e+30"},
		{math.NaN(), "-"}, {math.Inf(1), "inf"}, {math.Inf(-1), "-inf"},
	}
	for _, tt := range tests {
		if got := Number(tt.x); got != tt.want || len(got) > 8 {
			t.Errorf("Number(%v) = %q, want %q", tt.x, got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0.0s"}, {0, "0.0s"}, {4290 * time.Millisecond, "4.2s"}, {9999 * time.Millisecond, "9.9s"},
		{10 * time.Second, "10s"}, {time.Minute - 1, "59s"}, {92 * time.Second, "1m32s"}, {62 * time.Second, "1m02s"},
		{time.Hour - 1, "59m59s"}, {125 * time.Minute, "2h05m"}, {76 * time.Hour, "3d04h"},
	}
	for _, tt := range tests {
		if got := Duration(tt.d); got != tt.want {
			t.Errorf("Duration(%v) = %q, want %q", tt.d, got, tt.want)
		}
	}
}

package metrics

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// None stands for a number that does not exist yet.
const None = "-"

// Count writes a count or a rate in three digits and a unit: 999, 12.3k, 1M.
// NaN is None.
func Count[N int | int64 | float64](n N) string {
	x := float64(n)
	if !ordinary(x) {
		return strange(x)
	}
	x = significant(x, 3) // first, so that 999,999 is 1M and not 1000k
	unit := ""
	for _, next := range []string{"k", "M", "G", "T"} {
		if math.Abs(x) < 1000 {
			break
		}
		x, unit = x/1000, next
	}
	return strconv.FormatFloat(x, 'f', -1, 64) + unit
}

// Number writes a measured number, such as a loss, in at most eight characters
// (nine below 1e-99), with as many digits as keep its width steady from one
// measurement to the next: 195.3, 0.0123, 5.0e-04, 123k. NaN is None.
func Number(x float64) string {
	if !ordinary(x) {
		return strange(x)
	}
	size := math.Abs(significant(x, 4)) // as it will be seen: 9.9999 has two digits before the point
	switch {
	case size == 0:
		return "0"
	case size < 1e-3:
		return strconv.FormatFloat(x, 'e', 1, 64)
	case size >= 1e5:
		return Count(x)
	}
	before := int(math.Floor(math.Log10(size))) + 1
	return strconv.FormatFloat(x, 'f', min(max(4-before, 0), 4), 64)
}

// Duration writes a time span by its two largest units: 4.2s, 45s, 1m32s,
// 2h05m, 3d04h. What is below the smaller unit is cut off, and a negative span
// is none at all.
func Duration(d time.Duration) string {
	d = max(d, 0)
	const day = 24 * time.Hour
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(time.Second/10))
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
}

// ordinary tells whether x has a unit to be written with.
func ordinary(x float64) bool { return math.Abs(x) < 1e15 }

// strange writes what is not ordinary.
func strange(x float64) string {
	switch {
	case math.IsNaN(x):
		return None
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return strconv.FormatFloat(x, 'e', 1, 64)
}

// significant rounds x to n decimal digits.
func significant(x float64, n int) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', n-1, 64), 64) // its own output parses
	return r
}

package loops

import "unsafe"

// sortIndex sorts the positions 0 to n-1 by their keys, n numbers without gaps, with a stable merge
// sort. The result is in idx or in tmp, each n long, whichever is returned. NaN compares false with
// everything, as < does.
func sortIndex[T number](keys unsafe.Pointer, idx, tmp []int32, descending bool) []int32 {
	k := of[T](keys, len(idx))
	for i := range idx {
		idx[i] = int32(i)
	}
	const run = 8
	for lo := 0; lo < len(idx); lo += run {
		insertion(k, idx[lo:min(lo+run, len(idx))], descending)
	}
	for width := run; width < len(idx); width *= 2 {
		for lo := 0; lo < len(idx); lo += 2 * width {
			mid, hi := min(lo+width, len(idx)), min(lo+2*width, len(idx))
			mergeKeys(k, tmp[lo:hi], idx[lo:mid], idx[mid:hi], descending)
		}
		idx, tmp = tmp, idx
	}
	return idx
}

// before reports whether key a must come before key b.
func before[T number](a, b T, descending bool) bool {
	if descending {
		return a > b
	}
	return a < b
}

func insertion[T number](k []T, idx []int32, descending bool) {
	for i := 1; i < len(idx); i++ {
		v := idx[i]
		j := i
		for ; j > 0 && before(k[v], k[idx[j-1]], descending); j-- {
			idx[j] = idx[j-1]
		}
		idx[j] = v
	}
}

// mergeKeys joins two sorted runs, taking from the first unless the second's key comes before.
func mergeKeys[T number](k []T, dst, x, y []int32, descending bool) {
	for i := range dst {
		if len(x) > 0 && (len(y) == 0 || !before(k[y[0]], k[x[0]], descending)) {
			dst[i], x = x[0], x[1:]
		} else {
			dst[i], y = y[0], y[1:]
		}
	}
}

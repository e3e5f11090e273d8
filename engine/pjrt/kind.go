//go:build xla

package pjrt

import "strings"

// shares are the bytes of shared memory that a block may have on devices of a kind that have more
// than the rest.
var shares = []struct {
	kind  string
	bytes int
}{{"H100", 227 << 10}, {"H200", 227 << 10}, {"B100", 227 << 10}, {"B200", 227 << 10}, {"A100", 163 << 10}, {"A30", 163 << 10}}

// sharedBy returns how many bytes of shared memory a block has on a kind of device; 0 stands for
// what every device has.
func sharedBy(kind string) int {
	for _, s := range shares {
		if strings.Contains(kind, s.kind) {
			return s.bytes
		}
	}
	return 0
}

package ptx

import "testing"

// Want has regions divided into at least so many blocks, if they have the rows, until the test
// ends.
func Want(t *testing.T, blocks int) {
	before := wanted
	wanted = blocks
	t.Cleanup(func() { wanted = before })
}

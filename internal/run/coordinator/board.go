package coordinator

import (
	"bytes"

	"github.com/weft-rl/weft/internal/metrics"
)

// board is the TensorBoard files of a run. What goes wrong with them is of no concern to the run:
// its record has all that they show.
type board struct {
	file   *metrics.TensorBoard // nil before the first line of an epoch
	failed bool                 // nothing more is written in the epoch
}

// add writes new lines of the record in the folder dir. The first of an epoch has TensorBoard
// forget the points of the steps that the epoch does again.
func (b *board) add(dir string, lines []byte) {
	for line := range bytes.Lines(lines) {
		if b.failed {
			return
		}
		row, err := metrics.ParseRow(line)
		if err != nil || len(row.Values) == 0 { // the beginning of a line was written before
			continue
		}
		if b.file == nil {
			b.file, err = metrics.OpenTensorBoard(dir, row.Step-1)
		}
		if err == nil {
			err = b.file.Write(row)
		}
		b.failed = err != nil
	}
}

// close ends the epoch's file.
func (b *board) close() {
	if b.file != nil {
		_ = b.file.Close() // the record has the lines
	}
	*b = board{}
}

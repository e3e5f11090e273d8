package metrics

import (
	"errors"
	"fmt"
	"os"
)

// journal is a file that only grows, one whole entry a call. Entries are not
// buffered: they come once an iteration, and a buffer would be lost with the
// process.
type journal struct {
	file *os.File
	err  error // error of the first entry that failed
}

// append writes one entry. After a failure it writes nothing more: half an
// entry at the end of a file can be told apart and dropped, in the middle it
// would spoil what follows.
func (j *journal) append(entry []byte) error {
	if j.err == nil {
		_, j.err = j.file.Write(entry)
	}
	return j.err
}

// close makes what was written durable and closes the file.
func (j *journal) close() error {
	if err := errors.Join(j.file.Sync(), j.file.Close()); err != nil {
		return fmt.Errorf("close metrics: %w", err)
	}
	return nil
}

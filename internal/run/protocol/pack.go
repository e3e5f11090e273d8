package protocol

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weft-rl/weft/internal/run/part"
)

// maxAssignment bounds an assignment, unpacked.
const maxAssignment = 64 << 20

// Pack returns an assignment as bytes. Plans of many workers say much the same of each, so
// they become a small part of their size.
func Pack(a part.Assignment) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if err := errors.Join(json.NewEncoder(z).Encode(a), z.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Unpack returns the assignment that bytes are, for the part of number me.
func Unpack(data []byte, me int) (a part.Assignment, err error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return a, fmt.Errorf("not an assignment: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxAssignment+1))
	if err == nil && len(text) > maxAssignment {
		err = fmt.Errorf("it is larger than %d bytes", maxAssignment)
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return a, fmt.Errorf("not an assignment: %w", err)
	}
	if a.Me = me; me < 0 || me >= len(a.Workers) {
		return a, fmt.Errorf("an assignment of part %d of %d of run %s", me, len(a.Workers), a.Run)
	}
	return a, nil
}

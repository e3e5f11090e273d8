package part

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weft-rl/weft/internal/run/durable"
)

// Committed is from where a run can go on. A coordinator keeps it in the run's folder
// as well, so that the run can go on without that coordinator's own records.
type Committed struct {
	Epoch  int64     `json:"epoch"`            // the last that began
	Shards int       `json:"shards,omitempty"` // number of shards, for the run's whole life
	Last   *Manifest `json:"last,omitempty"`   // checkpoint that counts; nil before the first
}

// Step returns the step of the checkpoint; 0 without one.
func (c Committed) Step() int64 {
	if c.Last == nil {
		return 0
	}
	return c.Last.Step
}

const committedFile = "committed.json"

// ReadCommitted reads what a run's folder says; of one that no coordinator had,
// nothing.
func ReadCommitted(dir string) (c Committed, err error) {
	path := filepath.Join(dir, committedFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		c, err = parseCommitted(text)
	}
	if err != nil {
		return Committed{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

func parseCommitted(text []byte) (c Committed, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return Committed{}, err
	}
	if m := c.Last; c.Epoch < 0 || c.Shards < 0 || m != nil && (m.Epoch > c.Epoch || m.Step < 0 || m.Size < 0 || m.Object == "") {
		return Committed{}, errors.New("it makes no sense")
	}
	return c, nil
}

// Write keeps it in a run's folder, unless that says something newer: then this
// coordinator no longer acts.
func (c Committed) Write(dir string) error {
	if old, err := ReadCommitted(dir); err == nil && (old.Epoch > c.Epoch || old.Epoch == c.Epoch && old.Step() > c.Step()) {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return durable.Replace(filepath.Join(dir, committedFile), append(text, '\n'))
}

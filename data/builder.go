package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"math"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/rl"
)

// Builder checks the episodes of a set one by one, and works out what its Meta says of them.
// Whatever writes data sets gives its episodes to one.
type Builder struct {
	meta    Meta
	columns []Column
	bounds  []rl.Bounds // of the columns that have a space
	reward  int

	starts  []int64
	digests []hash.Hash // of the columns
	returns tally
	lengths tally
	norm    []tally // of the numbers of an observation
}

// NewBuilder returns a builder of a set that m describes: its spaces, extra columns and what they
// are about. What follows from the rows is worked out.
func NewBuilder(m Meta) (*Builder, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	b := &Builder{meta: m, columns: m.Columns(), reward: m.Column(Reward), starts: []int64{0}}
	for _, c := range b.columns {
		var in rl.Bounds
		if c.Space != nil {
			in = rl.NewBounds(c.Space)
		}
		b.bounds, b.digests = append(b.bounds, in), append(b.digests, sha256.New())
	}
	if n, ok := width(m.Obs); ok {
		b.norm = make([]tally, n)
	}
	return b, nil
}

// Add checks an episode and counts it. An error names the episode and its row.
func (b *Builder) Add(e Episode) error {
	if err := e.check(b.columns, b.bounds); err != nil {
		return fmt.Errorf("episode %d: %w", len(b.starts)-1, err)
	}
	b.starts = append(b.starts, b.starts[len(b.starts)-1]+int64(e.Steps)+1)
	b.returns.add(e.total(b.reward))
	b.lengths.add(float64(e.Steps))
	for i, x := range e.Columns {
		_, _ = b.digests[i].Write(dtypes.UnsafeByteSliceFromAny(x)) // a hash never fails
	}
	b.observe(e)
	return nil
}

// observe counts the numbers of an episode's observations.
func (b *Builder) observe(e Episode) {
	at := 0
	for i, c := range b.columns {
		if b.norm == nil || !isObs(c.Name) {
			return // they are the first columns
		}
		n := c.Shape.Size()
		switch x := e.Columns[i].(type) {
		case []float32:
			observe(b.norm[at:at+n], x)
		case []float64:
			observe(b.norm[at:at+n], x)
		}
		at += n
	}
}

func observe[T float32 | float64](norm []tally, x []T) {
	for i, v := range x {
		norm[i%len(norm)].add(float64(v))
	}
}

// Starts returns the first row of every episode so far, and behind them the number of rows.
func (b *Builder) Starts() []int64 { return b.starts }

// Meta returns the description of the set that the episodes make.
func (b *Builder) Meta() (Meta, error) {
	m := b.meta
	if m.Episodes = int64(len(b.starts) - 1); m.Episodes == 0 {
		return m, fmt.Errorf("a data set has at least one episode")
	}
	m.Steps = b.starts[m.Episodes] - m.Episodes
	m.Longest = int64(b.lengths.max)
	m.Returns, m.Lengths = b.returns.summary(), b.lengths.summary()
	if b.norm != nil {
		m.Norm = &Norm{}
		for _, t := range b.norm {
			m.Norm.Mean, m.Norm.Std = append(m.Norm.Mean, t.mean), append(m.Norm.Std, t.std())
		}
	}
	sum, err := b.checksum()
	m.Checksum = sum
	return m, err
}

// checksum returns the hash of the names, types and spaces of all columns, of where episodes begin,
// and of the columns' own hashes.
func (b *Builder) checksum() (string, error) {
	h := sha256.New()
	for i, c := range b.columns {
		space, err := json.Marshal(spaceOf(c.Space))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s %s %x\n", c.Name, c.Shape, space, b.digests[i].Sum(nil))
	}
	_ = binary.Write(h, binary.LittleEndian, b.starts)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Verify reads all episodes of a source, and returns an error unless they are what its Meta says.
func Verify(src Source) error {
	m := src.Meta()
	b, err := NewBuilder(m)
	if err != nil {
		return err
	}
	for i := range len(src.Starts()) - 1 {
		e, err := Read(src, i)
		if err != nil {
			return err
		}
		if err := b.Add(e); err != nil {
			return err
		}
	}
	found, err := b.Meta()
	if err != nil {
		return err
	}
	return m.agrees(found)
}

// agrees returns an error unless a set is described by m.
func (m Meta) agrees(found Meta) error {
	switch {
	case found.Episodes != m.Episodes || found.Steps != m.Steps:
		return fmt.Errorf("it has %d episodes of %d steps in all, its description says %d of %d", found.Episodes, found.Steps, m.Episodes, m.Steps)
	case found.Checksum != m.Checksum:
		return fmt.Errorf("its rows have the checksum %.12s, its description says %.12s: they were changed since it was written", found.Checksum, m.Checksum)
	case math.Abs(found.Returns.Mean-m.Returns.Mean) > 1e-6*max(1, math.Abs(m.Returns.Mean)):
		return fmt.Errorf("its mean return is %g, its description says %g", found.Returns.Mean, m.Returns.Mean)
	}
	return nil
}

package replay

// Rows returns how many rows were inserted, those of a checkpoint that was loaded included, and how
// many were sampled since.
func (t *Table[E]) Rows() (inserted, sampled int64) { return t.count.Int64(), t.sampledRows }

// PerInsert returns Options.Ratio.
func (t *Table[E]) PerInsert() float64 { return t.Ratio }

package rl

// Metered is a store that counts what goes in and out: an asynchronous run keeps the two in the
// proportion that its deployment asks for.
type Metered interface {
	Component
	// Rows returns how many rows were inserted and how many were sampled.
	Rows() (inserted, sampled int64)
	// PerInsert returns how many rows the loop samples for each row that it inserts, where all
	// environments step in every iteration; 0 if that is not known.
	PerInsert() float64
}

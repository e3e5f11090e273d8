package edge

// hand is what passes on: the value itself, its memory with it.
func hand[T any](x *X, edge int, v T) T { return v }

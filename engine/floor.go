package engine

import "sync"

// floor is memory that nobody touches, so that it is never backed by any: it counts for the garbage
// collector alone. A training loop makes a megabyte of small tensors an iteration and drops them,
// while what it keeps is often no more than that. The collector would run several times a second,
// each time taking a core from the computation; with this much more heap to double it runs ten
// times less.
var floor = sync.OnceValue(func() []byte { return make([]byte, floorBytes) })

const floorBytes = 16 << 20

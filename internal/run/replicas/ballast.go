package replicas

import "sync"

// ballast is memory that is never touched. The collector runs when the heap has
// doubled; a small run's live heap is a few megabytes and its garbage, the
// tensors of every step, reaches that many times a second. The ballast makes
// doubling take tens of megabytes more. Untouched, it costs address space and no
// memory, and it is too small to matter to a heap that is large already. Once made, it
// stays as long as the process.
var ballast = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

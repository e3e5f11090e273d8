//go:build !weftscribble

package edge

// scribble says that memory is overwritten once it has been handed over.
const scribble = false

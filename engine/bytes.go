package engine

// Bytes returns the buffer's memory, for callers that read many small buffers: unlike Data it does
// not allocate. It is nil once the buffer is finalized or donated.
func (buf *Buffer) Bytes() []byte { return buf.data }

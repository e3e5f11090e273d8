package checkpoint

// Read returns the checkpoint at path, checked in full. The arrays are in name order, their Data
// are parts of one buffer, each aligned to its element size. Arrays kept in blocks have a Source
// instead, which checks them as they are read.
func Read(path string) (File, error) {
	f, _, _, err := read(path)
	return f, err
}

//go:build !unix

package checkpoint

// syncDir does nothing where a folder cannot be opened and synced; Windows journals names itself.
func syncDir(string) error { return nil }

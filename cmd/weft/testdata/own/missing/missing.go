// Package missing offers nothing.
package missing

// Environment is a type, which is not what is asked for.
type Environment struct{}

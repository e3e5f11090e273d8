// Package broken has a file of the author's own.
package broken

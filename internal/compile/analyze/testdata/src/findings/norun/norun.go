// Package norun marks a function that is no training loop.
package norun

//weft:train
func Train(n int) int { return n } // want `//weft:train stands above a function that takes no`

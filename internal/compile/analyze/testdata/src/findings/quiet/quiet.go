// Package quiet has no training loop, but a wrong directive.
package quiet

//weft:trian // want `there is no directive //weft:trian; did you mean //weft:train\?`
func Train() {}

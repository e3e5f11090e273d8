// Package broken does not compile.
package broken

// Environment is of no type.
var Environment = undefined

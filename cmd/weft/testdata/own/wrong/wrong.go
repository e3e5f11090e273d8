// Package wrong offers something else.
package wrong

// Environment is no environment.
var Environment = "an environment"

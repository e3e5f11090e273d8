// Command command is a main package.
package main

// Environment cannot be imported from here.
var Environment int

func main() {}

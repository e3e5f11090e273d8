// Command weft-vet shows in go vet and in editors what weft check finds:
//
//	go vet -vettool=$(which weft-vet) ./...
package main

import "github.com/weft-rl/weft/internal/compile/analyze"

func main() { analyze.Vet() }

package project
import "flag"
var loopCount = flag.Int("loops", 200, "")
var seedFlag = flag.Uint64("from", 1, "")

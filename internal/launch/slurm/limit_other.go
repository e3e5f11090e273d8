//go:build !unix

package slurm

import "os"

// limit is nil: Slurm does not run on this system.
var limit os.Signal

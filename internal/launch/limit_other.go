//go:build !unix

package launch

import "os"

// NearEnd is nil: no engine runs on this system.
var NearEnd os.Signal

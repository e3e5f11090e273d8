//go:build !unix

package guest

import (
	"errors"
	"net"
	"os"
)

// Supported says that this system cannot run programs that runs bring.
const Supported = false

func pair() (net.Conn, *os.File, error) { return nil, nil, errors.ErrUnsupported }

func killed(*os.ProcessState) string { return "" }

// Inherited fails: this system starts no program with a connection.
func Inherited() (net.Conn, net.Listener, error) { return nil, nil, errors.ErrUnsupported }

// InheritedStore fails likewise.
func InheritedStore() (net.Conn, error) { return nil, errors.ErrUnsupported }

//go:build !unix

package gym

import (
	"errors"
	"os"
	"syscall"
	"time"
)

const eager = 0

var (
	errTimeout     = errors.New("no answer in time")
	errUnsupported = errors.New("environments in Python need Linux or another Unix")
)

func pipe(int) (int, *os.File, error)        { return 0, nil, errUnsupported }
func closeFD(int) error                      { return errUnsupported }
func peek(int, []byte, time.Time) bool       { return false }
func readFull(int, []byte, time.Time) error  { return errUnsupported }
func writeFull(int, []byte, time.Time) error { return errUnsupported }
func memory() (*os.File, error)              { return nil, errUnsupported }
func share(*os.File, int) ([]byte, error)    { return nil, errUnsupported }
func unshare([]byte) error                   { return nil }
func killGroup(int)                          {}
func attributes() *syscall.SysProcAttr       { return nil }

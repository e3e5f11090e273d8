package checkpoint

import (
	"errors"
	"os"
	"syscall"
)

// LocksShared says that other processes see a lock.
const LocksShared = true

const errorSharingViolation syscall.Errno = 32

// lockFile opens the file so that others may read it but not open it to write, which is what they
// would do to lock it.
func lockFile(path string) (*os.File, func(), error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ,
		nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, nil, errHeld
	}
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	file := os.NewFile(uintptr(handle), path)
	return file, func() { file.Close() }, nil
}

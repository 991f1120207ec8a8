package runfolder

import (
	"os"
	"syscall"
)

// lockFile creates a file that no other process can open, and that the system removes when it is
// closed or the process ends.
func lockFile(path string) (*os.File, error) {
	const (
		deleteOnClose    = 0x04000000        // FILE_FLAG_DELETE_ON_CLOSE
		sharingViolation = syscall.Errno(32) // ERROR_SHARING_VIOLATION
	)
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS,
		syscall.FILE_ATTRIBUTE_NORMAL|deleteOnClose, 0)
	switch {
	case err == sharingViolation:
		return nil, ErrLocked
	case err != nil:
		return nil, err
	}
	return os.NewFile(uintptr(handle), path), nil
}

// unlockFile removes a locked file.
func unlockFile(file *os.File) { file.Close() }

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runfolder

import (
	"errors"
	"os"
	"syscall"
)

// lockFile creates and locks a file, without waiting. It returns nil where the file system has no
// locks. The system unlocks the file when the process ends.
func lockFile(path string) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && isFile(file, path) {
			return file, nil
		}
		file.Close()
		switch {
		case err == nil || errors.Is(err, syscall.EINTR): // its last owner has removed it
		case errors.Is(err, syscall.EWOULDBLOCK):
			return nil, ErrLocked
		default:
			os.Remove(path)
			return nil, nil
		}
	}
}

// isFile reports whether path still refers to an open file.
func isFile(file *os.File, path string) bool {
	one, err := file.Stat()
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(one, other)
}

// unlockFile removes a locked file.
func unlockFile(file *os.File) {
	os.Remove(file.Name()) // before others can lock it
	file.Close()
}

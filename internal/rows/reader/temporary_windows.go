package reader

import (
	"os"

	"golang.org/x/sys/windows"
)

// temporary makes a file that is gone once it is closed, or the process has ended.
func temporary(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|windows.FILE_FLAG_DELETE_ON_CLOSE, 0o600)
}

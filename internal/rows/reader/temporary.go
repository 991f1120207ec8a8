//go:build !windows

package reader

import "os"

// temporary creates an unlinked file that disappears when it is closed or the process ends.
func temporary(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return file, os.Remove(path)
}

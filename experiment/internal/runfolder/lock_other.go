//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package runfolder

import "os"

// lockFile locks nothing: the system has no locks that end with the process.
func lockFile(string) (*os.File, error) { return nil, nil }

// unlockFile does nothing.
func unlockFile(*os.File) {}

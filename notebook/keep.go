//go:build keep

// Package notebook pins the dependencies of the kernel: it imports the modules that the copied
// source of gophernotes requires.
package notebook

import (
	_ "github.com/cosmos72/gomacro/fast"
	_ "github.com/go-zeromq/zmq4"
	_ "github.com/gofrs/uuid"
	_ "github.com/gopherdata/gophernotes/imports"
)

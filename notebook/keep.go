//go:build keep

// Package notebook holds what the kernel is built of: the modules named here are required by the
// source of gophernotes, which install copies.
package notebook

import (
	_ "github.com/cosmos72/gomacro/fast"
	_ "github.com/go-zeromq/zmq4"
	_ "github.com/gofrs/uuid"
	_ "github.com/gopherdata/gophernotes/imports"
)

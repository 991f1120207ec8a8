// Package bindings lets gomacro, the interpreter inside the gophernotes kernel, import the packages
// of Bochner, of gonum and of golearn that a notebook needs. The other files are generated:
//
//	go generate ./bindings
package bindings

import "go/build"

//go:generate go run ../bind

// gomacro looks for the source of every type it meets and, of the standard library of today, cannot
// read what it finds: the released kernel panics at once, at an alias or a type parameter. Where it
// finds nothing it takes what reflection tells, which is all that a notebook needs.
func init() { build.Default.GOROOT = "" }

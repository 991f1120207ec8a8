// Package bindings lets gomacro, the interpreter inside the gophernotes kernel, import the packages
// of Bochner, of gonum and of golearn that a notebook needs. The other files are generated:
//
//	go generate ./bindings
package bindings

import (
	"go/build"
	"reflect"

	"github.com/cosmos72/gomacro/imports"
)

//go:generate go run ../bind

// gomacro looks for the source of every type it meets and, of the standard library of today, cannot
// read what it finds: the released kernel panics at once, at an alias or a type parameter. Where it
// finds nothing it takes what reflection tells, which is all that a notebook needs.
func init() { build.Default.GOROOT = "" }

// Show is what show.Value does in the interpreter. The kernel sets it when a cell begins.
var Show = func(any) {}

// Package show, which under this path is made for GoNB, is one function here.
func init() {
	imports.Packages["github.com/bochner-ml/bochner/notebook/show"] = imports.Package{
		Name:  "show",
		Binds: map[string]reflect.Value{"Value": reflect.ValueOf(func(v any) { Show(v) })},
	}
}

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

// Without GOROOT, gomacro uses reflection, which is sufficient for a notebook. Otherwise it parses
// the source of every type, and the released kernel panics on aliases and type parameters of the
// current standard library.
func init() { build.Default.GOROOT = "" }

// Show implements show.Value in the interpreter. The kernel sets it at the start of a cell.
var Show = func(any) {}

// Package show, which under this path is made for GoNB, is one function here.
func init() {
	imports.Packages["github.com/bochner-ml/bochner/notebook/show"] = imports.Package{
		Name:  "show",
		Binds: map[string]reflect.Value{"Value": reflect.ValueOf(func(v any) { Show(v) })},
	}
}

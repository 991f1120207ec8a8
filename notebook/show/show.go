// Package show displays values in a notebook, with the same API in both kernels.
//
// This is its source for GoNB, where each cell is a program. The interpreter's kernel provides its
// own Value under this path.
package show

import (
	"fmt"

	"github.com/janpfeifer/gonb/gonbui"
)

// Value displays v by its method HTML, SVG or PNG, else as fmt.Println does.
func Value(v any) {
	switch v := v.(type) {
	case interface{ HTML() string }:
		gonbui.DisplayHTML(v.HTML())
	case interface{ SVG() string }:
		gonbui.DisplaySVG(v.SVG())
	case interface{ PNG() []byte }:
		gonbui.DisplayPng(v.PNG())
	default:
		fmt.Println(v)
	}
	gonbui.Sync()
}

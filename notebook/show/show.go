// Package show shows values in a notebook, in the same words in both kernels.
//
// This is its source for GoNB, where each cell is a program. The interpreter's kernel has a Value of
// its own under this path.
package show

import (
	"fmt"

	"github.com/janpfeifer/gonb/gonbui"
)

// Value shows what v is: by its method HTML, SVG or PNG where it has one, else as fmt.Println does.
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

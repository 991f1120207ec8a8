package plot_test

import (
	"fmt"
	"strings"

	"github.com/bochner-ml/bochner/inspection/plot"
)

// A notebook displays the plot; a program writes its SVG to a file.
func ExamplePlot() {
	p := plot.New("rents").Points([]float64{1, 2, 3}, []float64{1, 4, 9}, []float64{0, 0.5, 1}).
		Curve("fit", []float64{1, 3}, []float64{0, 8})
	fmt.Println(strings.HasPrefix(p.SVG(), "<svg"), strings.Count(p.SVG(), "<circle"))
	// Output: true 3
}

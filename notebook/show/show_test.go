package show_test

import "github.com/bochner-ml/bochner/notebook/show"

type plot struct{}

func (plot) SVG() string { return "<svg/>" }

// Values without a picture are printed; a picture needs a notebook.
func ExampleValue() {
	show.Value("accuracy 0.95")
	show.Value(plot{})
	// Output: accuracy 0.95
}

package show_test

import "github.com/bochner-ml/bochner/notebook/show"

type plot struct{}

func (plot) SVG() string { return "<svg/>" }

// What has no picture is printed; a picture is not, where there is no notebook to show it.
func ExampleValue() {
	show.Value("accuracy 0.95")
	show.Value(plot{})
	// Output: accuracy 0.95
}

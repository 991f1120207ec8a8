package yaml_test

import (
	"fmt"

	tree "gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/pipeline/yaml"
)

// All errors of a document are reported.
func ExampleDecode() {
	const text = `
- standardise
- rff: {gamma: -1, feature: 500}
- logistic: {C: 1}
`
	var node tree.Node
	if err := tree.Unmarshal([]byte(text), &node); err != nil {
		fmt.Println(err)
		return
	}
	_, errs := yaml.Decode(&node, yaml.Origin{File: "rings.yaml", Path: "pipeline"})
	for _, f := range errs {
		fmt.Println(f)
	}
	// Output:
	// rings.yaml:2:3: pipeline[0]: no step is called "standardise" (did you mean standardize?)
	// rings.yaml:3:16: pipeline.rff.gamma: must be a number > 0, a list of them (one for each column), scale or median, got -1
	// rings.yaml:3:20: pipeline.rff.feature: no parameter is called "feature" (did you mean features?)
}

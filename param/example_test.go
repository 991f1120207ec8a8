package param_test

import (
	"fmt"

	"github.com/bochner-ml/bochner/param"
)

// Kernel is a spec with two parameters.
type Kernel struct {
	Shape string
	Gamma float64
}

func (k *Kernel) Params(l *param.List) {
	l.Choice(&k.Shape, "shape", "shape of the kernel", "gaussian", "laplacian")
	l.Float(&k.Gamma, "gamma", "its width parameter γ", param.Positive())
}

// Mixture is a spec that holds another.
type Mixture struct {
	Weight float64
	First  Kernel
}

func (m *Mixture) Params(l *param.List) {
	l.Float(&m.Weight, "weight", "weight of the first kernel", param.Between(0, 1))
	l.Child("first", &m.First)
}

func Example() {
	spec := Mixture{Weight: 0.5, First: Kernel{Shape: "gaussian", Gamma: 1}}
	for _, p := range param.All(spec) {
		fmt.Printf("%s = %v: %s; %s\n", p.Path, p.Value, p.Doc, p.Constraint)
	}
	// Output:
	// weight = 0.5: weight of the first kernel; a number from 0 to 1
	// first.shape = gaussian: shape of the kernel; gaussian or laplacian
	// first.gamma = 1: its width parameter γ; a number > 0
}

func ExampleWith() {
	spec := Mixture{Weight: 0.5, First: Kernel{Shape: "gaussian", Gamma: 1}}
	changed, err := param.With(spec, param.Setting{Path: "first.gamma", Value: 0.1})
	fmt.Println(changed, err)
	fmt.Println(spec)

	_, err = param.With(spec,
		param.Setting{Path: "first.gamma", Value: -1.0},
		param.Setting{Path: "first.shap", Value: "laplacian"})
	fmt.Println(err)
	// Output:
	// {0.5 {gaussian 0.1}} <nil>
	// {0.5 {gaussian 1}}
	// first.gamma: must be a number > 0, got -1
	// first.shap: no such parameter (did you mean first.shape?)
}

func ExampleCheck() {
	fmt.Println(param.Check(Kernel{Shape: "gausian"}))
	// Output:
	// shape: must be gaussian or laplacian, got "gausian" (did you mean gaussian?)
	// gamma: must be a number > 0, got 0
}

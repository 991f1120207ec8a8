package transformer

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bochner-ml/bochner/internal/spectral"
	"github.com/bochner-ml/bochner/internal/suggest"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
)

// KernelPart is a component of a mixture or product kernel. Start from [NewKernelPart].
type KernelPart struct {
	Kernel kernel.Name // any kernel of [RFF] except mixture and product
	Gamma  float64     // γ of the component
	Weight float64     // weight in a mixture
	Nu     float64     // ν of the matern kernel
	Alpha  float64     // α of the rational_quadratic kernel
}

// NewKernelPart returns the component of weight 1 with the given kernel and γ.
func NewKernelPart(name kernel.Name, gamma float64) KernelPart {
	return KernelPart{Kernel: name, Gamma: gamma, Weight: 1, Nu: 1.5, Alpha: 1}
}

// kernelParts adapts the components of a mixture or product to a parameter.
type kernelParts struct{ list *[]KernelPart }

// partParams lists the parameters of a component.
var partParams = []string{"kernel", "gamma", "weight", "nu", "alpha"}

func (p kernelParts) Set(plain any) error {
	list, ok := plain.([]any)
	if !ok {
		return errors.New(p.Constraint())
	}
	*p.list = nil
	for i, e := range list {
		named, ok := e.(map[string]any)
		if !ok {
			return param.FieldError{Constraint: p.Constraint(), Hint: fmt.Sprintf("element %d is %v", i, e)}
		}
		part := NewKernelPart("gaussian", 1)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			if err := part.set(name, named[name]); err != nil {
				return param.FieldError{Constraint: p.Constraint(), Hint: fmt.Sprintf("element %d: %v", i, err)}
			}
		}
		*p.list = append(*p.list, part)
	}
	return p.Check()
}

// set sets the parameter name to a plain value.
func (k *KernelPart) set(name string, plain any) error {
	if name == "kernel" {
		text, ok := plain.(string)
		if !ok {
			return fmt.Errorf("kernel is %v", plain)
		}
		k.Kernel = kernel.Name(text)
		return nil
	}
	to, ok := map[string]*float64{"gamma": &k.Gamma, "weight": &k.Weight, "nu": &k.Nu, "alpha": &k.Alpha}[name]
	if !ok {
		if near := suggest.Nearest(name, partParams); near != "" {
			return fmt.Errorf("no %s; did you mean %s?", name, near)
		}
		return fmt.Errorf("no %s; there are %s", name, suggest.Alternatives(partParams))
	}
	switch v := plain.(type) {
	case int:
		*to = float64(v)
	case float64:
		*to = v
	default:
		return fmt.Errorf("%s is %v", name, plain)
	}
	return nil
}

func (p kernelParts) Get() any {
	list := make([]any, len(*p.list))
	for i, k := range *p.list {
		named := map[string]any{"kernel": string(k.Kernel), "gamma": k.Gamma, "weight": k.Weight}
		switch k.Kernel {
		case "matern":
			named["nu"] = k.Nu
		case "rational_quadratic":
			named["alpha"] = k.Alpha
		}
		list[i] = named
	}
	return list
}

func (p kernelParts) Constraint() string {
	return "a list of kernels, as {kernel: gaussian, gamma: 1.0, weight: 1.0}, with nu or alpha where they have one"
}

func (p kernelParts) Check() error {
	for i, k := range *p.list {
		if problem := k.problem(); problem != "" {
			return param.FieldError{Constraint: p.Constraint(), Hint: fmt.Sprintf("element %d: %s", i, problem)}
		}
	}
	return nil
}

// problem returns why the component is invalid, or "" if it is valid.
func (k KernelPart) problem() string {
	if !slices.Contains(spectral.FourierKernels, string(k.Kernel)) {
		return fmt.Sprintf("kernel must be %[2]s, got %[1]q", k.Kernel, suggest.Alternatives(spectral.FourierKernels))
	}
	numbers := map[string]float64{"gamma": k.Gamma, "weight": k.Weight}
	switch k.Kernel {
	case "matern":
		numbers["nu"] = k.Nu
	case "rational_quadratic":
		numbers["alpha"] = k.Alpha
	}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		if !param.Positive.Contains(numbers[name]) {
			return fmt.Sprintf("%s must be a number > 0, got %v", name, numbers[name])
		}
	}
	return ""
}

// composed lists the kernels that have components.
var composed = []string{"mixture", "product"}

// composedKernel returns the mixture or product of list; ok is false for other names and invalid
// components.
func composedKernel(name string, list []KernelPart) (kernel spectral.Kernel, ok bool) {
	if len(list) == 0 || (kernelParts{&list}).Check() != nil {
		return spectral.Kernel{}, false
	}
	parts := make([]spectral.Part, len(list))
	for i, k := range list {
		of, _ := spectral.FourierKernel(string(k.Kernel), spectral.Shape{Nu: k.Nu, Alpha: k.Alpha})
		parts[i] = spectral.Part{Kernel: of, Factor: math.Pow(k.Gamma, of.Power), Weight: k.Weight}
	}
	switch name {
	case "mixture":
		return spectral.Sum(parts), true
	case "product":
		return spectral.Times(parts), true
	}
	return spectral.Kernel{}, false
}

// partsState serializes the components.
func partsState(s *model.State, list *[]KernelPart) {
	var kernels []string
	var numbers []float64
	for _, k := range *list {
		kernels, numbers = append(kernels, string(k.Kernel)), append(numbers, k.Gamma, k.Weight, k.Nu, k.Alpha)
	}
	s.Strings("part_kernels", &kernels)
	s.Floats("part_numbers", &numbers)
	if !s.Restoring() || s.Err() != nil {
		return
	}
	s.Require(len(numbers) == 4*len(kernels), "parts of the kernel and their numbers do not fit")
	if s.Err() != nil {
		return
	}
	*list = nil
	for i, name := range kernels {
		n := numbers[4*i:]
		*list = append(*list, KernelPart{kernel.Name(name), n[0], n[1], n[2], n[3]})
	}
}

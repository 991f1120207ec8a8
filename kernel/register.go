package kernel

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/internal/spec/suggest"
)

// Func is a kernel as a function of two rows of the same length. It must be symmetric, positive
// definite, a function of its arguments only, and safe for concurrent use; it must not change or keep
// the rows. Rows of strings are encoded as numbers, such as the code points of their characters.
type Func func(x, y []float64) float64

// own are the registered kernels.
var own = struct {
	sync.RWMutex
	funcs map[Name]Func
}{funcs: map[Name]Func{}}

// builtin are the names that [Register] does not accept.
var builtin = []Name{Gaussian, Laplacian, Cauchy, Exponential, Matern, RationalQuadratic, PoweredExponential, Polynomial,
	Cosine, Chi2, Sigmoid, Hyperbolic, Triangular, Smooth, Linear, Custom, Precomputed}

// Register gives a kernel a name, by which the exact methods (estimator.KernelRidge, KernelSVM,
// KernelSVR and GaussianProcess, cluster.Spectral, transformer.Nystroem) accept it in Go and in YAML. Model
// files contain the name only: a program registers the kernel before it opens a model. γ has no effect on
// the kernel.
//
// It returns an error for a name that is taken; a kernel cannot be replaced.
func Register(name Name, f Func) error {
	if !suggest.ValidName(string(name)) || f == nil {
		return fmt.Errorf("kernel: register %q: must have a name of letters, digits, _ and -, and a function", string(name))
	}
	own.Lock()
	defer own.Unlock()
	if slices.Contains(builtin, name) || own.funcs[name] != nil {
		return fmt.Errorf("kernel: register %s: the name is taken; use another name", name)
	}
	own.funcs[name] = f
	return nil
}

// registered returns the names of the kernels of [Register], in alphabetical order.
func registered() []Name {
	own.RLock()
	defer own.RUnlock()
	return slices.Sorted(maps.Keys(own.funcs))
}

// Func returns the function of a registered kernel, nil for other names.
func (n Name) Func() Func {
	own.RLock()
	defer own.RUnlock()
	return own.funcs[n]
}

// IsOwn reports whether the caller computes the kernel: it is [Precomputed] or registered. Such a kernel
// has no spectral density and no γ.
func (n Name) IsOwn() bool { return n == Precomputed || n.Func() != nil }

// withRegistered returns the given names, and those of the registered kernels if precomputed is among them: a
// method without need of a spectral density.
func withRegistered(list []string) []string {
	if !slices.Contains(list, string(Precomputed)) {
		return list
	}
	for _, n := range registered() {
		list = append(slices.Clip(list), string(n))
	}
	return list
}

// hint explains why a step does not have the named kernel.
func (v columnsValue) hint(name string) string {
	switch n := Name(name); {
	case n.IsOwn():
		return name + " has no spectral density; use it in nystroem, gaussian_process, kernel_ridge, " +
			"kernel_ridge_classifier, kernel_svm, kernel_svr or spectral"
	case suggest.ValidName(name) && !slices.Contains(builtin, n) && v.exact:
		return "call kernel.Register for a kernel of the program, before a document or model is read"
	}
	return ""
}

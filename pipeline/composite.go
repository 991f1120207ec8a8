package pipeline

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/transformer"
)

// Composite is a step that holds other steps, such as [Chain], [Union] and [Columns], and one of your
// own. By it YAML documents, their JSON schema and reference, [Pipeline.CheckContent] and pictures
// reach what is inside.
//
// Otherwise it is like any step: Params declares the parameter paths, with [DeclareSteps] those of
// the children; Fit checks them by [CheckChildren]; and the fitted value serializes fitted children
// with [KeepTransformer]. A [Chain] of one child fits that child in memory, from a stream or by
// passes, and returns its cost.
type Composite interface {
	transformer.Fitter
	// Holds describes what the step holds, and how that stands in a document.
	Holds() ChildrenSpec
	// Children returns what it holds, in order.
	Children() []Step
	// WithChildren returns the same step with other children, which shares no list with the receiver. Where children
	// are not of a Kind of their own they may be of any type: a search puts steps there that have learned for several.
	WithChildren(children []Step) transformer.Fitter
	// Route infers the output columns for the input columns in. Call child for child i; it records
	// the errors of that child. The error is that of the step itself.
	Route(in datasets.InferredSchema, child func(i int,
		in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error)
}

// ChildrenSpec describes the list of children of a [Composite]. In a document the list is below
// Key, next to the parameters of the step, or replaces both if these have their defaults.
type ChildrenSpec struct {
	Key   string   // of the list: "parts"
	What  string   // one of them: "part"
	Doc   string   // what they are, for the reference
	None  string   // what it means that there are none: "passes the columns on"; "" where there must be some
	Taken []string // names that none of them may have
	// Parallel means that children get the same rows; otherwise each gets the output of the
	// previous one.
	Parallel bool
	// Kind is what each of them is, with its defaults; nil stands for any registered step.
	Kind  Member
	Named string // what those of a Kind are called that have no name, for the reference
}

// Member is what a [Composite] holds that is no step of its own name, such as [Group]. In a document
// it is a mapping of its parameters, its name, and, if it is a Composite, its list.
type Member interface {
	transformer.Fitter
	// NameAt returns what the child with that number, from 0, is called unless it has a name.
	NameAt(i int) string
}

// ChildName returns the name in paths of child number i of a [Composite].
func ChildName(child Step, i int) string {
	if m, ok := child.Fitter.(Member); ok && child.Name == "" {
		return m.NameAt(i)
	}
	return child.Path()
}

// DeclareSteps declares the parameters of steps, each below its name. The caller has cloned the slice.
func DeclareSteps(l *param.List, steps []Step) {
	for i := range steps {
		l.Child(steps[i].Path(), &steps[i].Fitter)
	}
}

// CheckChildren reports nil children and duplicate names in c and in its children.
func CheckChildren(c Composite) error {
	h := c.Holds()
	if err := checkSteps(h.What, c.Children()); err != nil {
		return err
	}
	for i, child := range c.Children() {
		name := ChildName(child, i)
		if slices.Contains(h.Taken, name) {
			return fmt.Errorf("no %s can be called %s", h.What, name)
		}
		inside, ok := child.Fitter.(Composite)
		if !ok {
			continue
		}
		if err := CheckChildren(inside); err != nil {
			return place.At(h.What, name, err)
		}
	}
	return nil
}

// checkSteps reports nil steps and duplicate names.
func checkSteps(what string, steps []Step) error {
	var names []string
	for i, s := range steps {
		if s.Fitter == nil {
			return fmt.Errorf("%s %d has no spec", what, i+1)
		}
		if err := specs.CheckValue(s.Fitter); err != nil {
			return fmt.Errorf("%s %d: %w", what, i+1, err)
		}
		names = append(names, ChildName(s, i))
	}
	return checkNames(what, names)
}

// cloneSteps returns a copy of the steps and of the lists of steps in them.
func cloneSteps(steps []Step) []Step {
	steps = slices.Clone(steps)
	for i := range steps {
		if c, ok := steps[i].Fitter.(Composite); ok {
			steps[i].Fitter = c.WithChildren(cloneSteps(c.Children()))
		}
	}
	return steps
}

// Required returns the names of the parameters of spec that have no default: those whose value is empty
// and refused.
func Required(spec any) []string {
	errs, _ := param.Check(spec).(param.FieldErrors)
	var out []string
	for _, p := range specs.Own(spec) {
		if empty(p.Value) && slices.ContainsFunc(errs, func(f param.FieldError) bool { return f.Path == p.Path }) {
			out = append(out, p.Name)
		}
	}
	return out
}

func empty(plain any) bool {
	list, isList := plain.([]any)
	return plain == nil || plain == "" || isList && len(list) == 0
}

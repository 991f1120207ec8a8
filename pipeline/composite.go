package pipeline

import (
	"fmt"
	"slices"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline/internal/place"
	"github.com/bochner-ml/bochner/transformer"
)

// Composite is a step that contains other steps, such as [Chain], [Union], [Columns] or a custom
// one. The interface gives YAML documents, their JSON schema and reference, [Pipeline.CheckContent]
// and diagrams access to the children.
//
// Otherwise it is an ordinary step: Params declares the parameters of its children with
// [DeclareSteps], Fit checks them with [ChildrenSpec.Check], and State of the fitted type serializes
// fitted children with [KeepTransformer]. A [Chain] of one child fits that child in memory, from a
// stream or by passes, and returns its cost.
type Composite interface {
	transformer.Fitter
	// Holds describes the list of children and its form in a document.
	Holds() ChildrenSpec
	// Children returns the children, in order.
	Children() []Step
	// WithChildren returns the step with other children; it shares no slice with the receiver.
	// Unless ChildrenSpec.Kind is set, children may have any type: a search replaces steps by ones
	// with a shared first stage.
	WithChildren(children []Step) transformer.Fitter
	// Route infers the output columns for the input columns in. Call child for child i; it records
	// the errors of that child. The error is that of the step itself.
	Route(in datasets.InferredSchema, child func(i int,
		in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error)
}

// ChildrenSpec describes the list of children of a [Composite]. In a document the list is below
// Key, next to the parameters of the step, or replaces both if these have their defaults.
type ChildrenSpec struct {
	Key   string   // key of the list: "parts"
	What  string   // noun for a child: "part"
	Doc   string   // description of the list, for the reference
	None  string   // meaning of an empty list: "passes the columns on"; "" if it must not be empty
	Taken []string // names that children must not have
	// Parallel means that children get the same rows; otherwise each gets the output of the
	// previous one.
	Parallel bool
	// Kind is a child with default parameters if children are a [Member]; nil for any registered
	// step.
	Kind  Member
	Named string // description of the default names of members, for the reference
}

// Member is a child of a [Composite] that is not a registered step, such as [Group]. In a document
// it is a mapping of its parameters, its name, and, if it is a Composite, its list.
type Member interface {
	transformer.Fitter
	// NameAt returns the default name of the child at index i.
	NameAt(i int) string
}

// NameAt returns the name in parameter paths of the step as child i of a [Composite].
func (s Step) NameAt(i int) string {
	if m, ok := s.Fitter.(Member); ok && s.Name == "" {
		return m.NameAt(i)
	}
	return s.Path()
}

// DeclareSteps declares the parameters of steps, prefixed by their names. The caller must have
// cloned the slice.
func DeclareSteps(l *param.List, steps []Step) {
	for i := range steps {
		l.Child(steps[i].Path(), &steps[i].Fitter)
	}
}

// Check returns an error for nil children and duplicate names in children and their descendants.
func (h ChildrenSpec) Check(children []Step) error {
	if err := checkSteps(h.What, children); err != nil {
		return err
	}
	for i, child := range children {
		name := child.NameAt(i)
		if slices.Contains(h.Taken, name) {
			return fmt.Errorf("no %s can be called %s", h.What, name)
		}
		inside, ok := child.Fitter.(Composite)
		if !ok {
			continue
		}
		if err := inside.Holds().Check(inside.Children()); err != nil {
			return place.At(h.What, name, err)
		}
	}
	return nil
}

// checkSteps returns an error for nil steps and duplicate names.
func checkSteps(what string, steps []Step) error {
	var names []string
	for i, s := range steps {
		if s.Fitter == nil {
			return fmt.Errorf("%s %d has no spec", what, i+1)
		}
		if err := specs.CheckValue(s.Fitter); err != nil {
			return fmt.Errorf("%s %d: %w", what, i+1, err)
		}
		names = append(names, s.NameAt(i))
	}
	return checkNames(what, names)
}

// cloneSteps returns a deep copy of the steps.
func cloneSteps(steps []Step) []Step {
	steps = slices.Clone(steps)
	for i := range steps {
		if c, ok := steps[i].Fitter.(Composite); ok {
			steps[i].Fitter = c.WithChildren(cloneSteps(c.Children()))
		}
	}
	return steps
}

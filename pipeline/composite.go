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

// Composite is a step that contains other steps, such as [Chain], [Union], [Columns] or a custom
// step. The interface gives YAML documents, their JSON schema and reference,
// [Pipeline.CheckContent] and diagrams access to the children.
//
// Otherwise it is like any step: Params declares the parameter paths, with [DeclareSteps] those of
// the children; Fit checks them by [CheckChildren]; and the fitted value serializes fitted children
// with [KeepTransformer]. A [Chain] of one child fits that child in memory, from a stream or by
// passes, and returns its cost.
type Composite interface {
	transformer.Fitter
	// Holds describes the children, and their representation in a document.
	Holds() ChildrenSpec
	// Children returns the children in order.
	Children() []Step
	// WithChildren returns a copy of the step with other children; it shares no slice with the
	// receiver. Unless ChildrenSpec has a Kind, children may be of any type: a search inserts steps
	// with shared first stages.
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
	What  string   // name of a child: "part"
	Doc   string   // description of the children, for the reference
	None  string   // meaning of an empty list: "passes the columns on"; "" if it is not allowed
	Taken []string // reserved names of children
	// Parallel means that children get the same rows; otherwise each gets the output of the
	// previous one.
	Parallel bool
	// Kind is the type of the children, with defaults; nil means any registered step.
	Kind  Member
	Named string // default name of children of a Kind, for the reference
}

// Member is a child of a [Composite] that is not a registered step, such as [Group]. In a document
// it is a mapping of its parameters, its name, and, if it is a Composite, its list.
type Member interface {
	transformer.Fitter
	// NameAt returns the default name of the i-th child.
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

// Required returns the names of the parameters of spec without a default: those whose zero value is
// invalid.
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

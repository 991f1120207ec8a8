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
// The rest is as for any step: Params declares the paths of parameters, with [DeclareSteps] those of
// the children; Fit checks them by [CheckChildren]; and the fitted value keeps fitted children in a
// model file by [KeepTransformer]. A [Chain] of one child fits that child in memory, from a stream or by
// passes, whether it needs rows or not, and tells its cost.
type Composite interface {
	transformer.Fitter
	// Holds describes what the step holds, and how that stands in a document.
	Holds() ChildrenSpec
	// Children returns what it holds, in order.
	Children() []Step
	// WithChildren returns the same step with other children, which shares no list with the receiver. Where children
	// are not of a Kind of their own they may be of any type: a search puts steps there that have learned for several.
	WithChildren(children []Step) transformer.Fitter
	// Route says what is known of the columns that come out where in goes in. Child does so for
	// child i, and takes note of what that refuses. The error is what the step itself refuses.
	Route(in datasets.InferredSchema, child func(i int, in datasets.InferredSchema) datasets.InferredSchema) (datasets.InferredSchema, error)
}

// ChildrenSpec describes the list of children of a [Composite]. In a document the list stands below Key,
// beside the parameters of the step, or, where these have their defaults, in place of both.
type ChildrenSpec struct {
	Key   string   // of the list: "parts"
	What  string   // one of them: "part"
	Doc   string   // what they are, for the reference
	None  string   // what it means that there are none: "passes the columns on"; "" where there must be some
	Taken []string // names that none of them may have
	// Parallel says that they stand side by side rather than one after the other.
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

// CheckChildren reports children of c, and of these, that are nil, and names that cannot be told apart.
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

// checkSteps reports steps that are nil and names that cannot be told apart.
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

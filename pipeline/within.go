package pipeline

import (
	"reflect"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// Within lists what a spec holds of which a document says what it is: an [estimator.Estimator] or a
// [transformer.Fitter] in a field that [param.List.Child] declares, as of a model that wraps another one.
// In a document it stands below the name of the child: a step, or a list of steps, which is a [Pipeline] or
// a [Chain]. The children of a [Composite] stand in its list instead.
func Within(spec any) []param.Child {
	switch spec.(type) {
	case Composite, Member, Pipeline:
		return nil
	}
	var out []param.Child
	for _, c := range param.Children(spec) {
		if c.Type == reflect.TypeFor[estimator.Estimator]() || c.Type == reflect.TypeFor[transformer.Fitter]() {
			out = append(out, c)
		}
	}
	return out
}

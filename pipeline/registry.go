package pipeline

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/predictorstate"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// Entry describes a registered step.
type Entry struct {
	Name string // name in documents, such as "rff"
	Doc  string // one-sentence description
	// New returns the spec with default values, a [transformer.Fitter] or an [estimator.Estimator].
	New func() any
	// Fitted returns an empty value of the fitted type, for loading a model file.
	Fitted func() model.Stateful
}

// IsEstimator reports whether the entry is an estimator, which must be the last step.
func (e Entry) IsEstimator() bool {
	_, ok := e.New().(estimator.Estimator)
	return ok
}

// Params returns the parameters of the spec with their defaults.
func (e Entry) Params() []param.Param { return specs.Own(e.New()) }

// registered contains the steps by name, initially the built-in ones.
var registered = struct {
	sync.RWMutex
	entries []Entry
	specs   map[reflect.Type]string // name by type of the spec
}{entries: nil, specs: map[reflect.Type]string{}}

// Register adds a step, so that documents and model files can refer to it. Call it before any of
// them is read. It returns an error if the name or the type of the spec is already registered; a
// second registration of the same types under the same name has no effect. Types are identified by
// their full package path.
func Register(e Entry) error {
	if !suggest.ValidName(e.Name) || e.New == nil || e.Fitted == nil {
		return fmt.Errorf("pipeline: register %q: must have a name of letters, digits, _ and -, New and Fitted", e.Name)
	}
	spec, fitted := e.New(), e.Fitted()
	_, isStep := spec.(transformer.Fitter)
	_, isEstimator := spec.(estimator.Estimator)
	if !isStep && !isEstimator {
		return fmt.Errorf("pipeline: register %s: %s is neither a transformer nor an estimator", e.Name, specs.TypeName(spec))
	}
	if _, err := param.With(spec); err != nil {
		return fmt.Errorf("pipeline: register %s: %w", e.Name, err)
	}
	if fitted == nil {
		return fmt.Errorf("pipeline: register %s: Fitted must return an empty fitted value, got nil", e.Name)
	}
	registered.Lock()
	defer registered.Unlock()
	if slices.Contains(reserved, e.Name) {
		return fmt.Errorf("pipeline: register %s: the name is taken: it means something else in documents or model files",
			e.Name)
	}
	for _, o := range registered.entries {
		switch {
		case o.Name != e.Name:
		case reflect.TypeOf(o.New()) == reflect.TypeOf(spec) && reflect.TypeOf(o.Fitted()) == reflect.TypeOf(fitted):
			return nil
		default:
			return fmt.Errorf("pipeline: register %s: the name is taken by %s", e.Name, specs.TypeName(o.New()))
		}
	}
	specType := reflect.TypeOf(spec)
	if other, taken := registered.specs[specType]; taken {
		return fmt.Errorf("pipeline: register %s: the type %s is registered already, as %s",
			e.Name, specs.TypeName(spec), other)
	}
	if err := model.RegisterKind(e.Name, e.Fitted); err != nil {
		return fmt.Errorf("pipeline: register %s: %w", e.Name, err)
	}
	registered.entries = append(registered.entries, e)
	registered.specs[specType] = e.Name
	return nil
}

// reserved lists names with another meaning in documents or model files.
var reserved = []string{"name", wholePipeline}

// Registered returns all steps: the built-in ones, followed by the others, each in order of
// registration.
func Registered() []Entry {
	registered.RLock()
	defer registered.RUnlock()
	return slices.Clone(registered.entries)
}

// Lookup returns the registered step with a name, or of the type of a spec.
func Lookup(step any) (e Entry, ok bool) {
	name, ok := step.(string)
	if !ok {
		name, ok = registeredName(step)
	}
	registered.RLock()
	defer registered.RUnlock()
	i := slices.IndexFunc(registered.entries, func(e Entry) bool { return ok && e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return registered.entries[i], true
}

// registeredName returns the registered name of the type of spec.
func registeredName(spec any) (name string, ok bool) {
	registered.RLock()
	defer registered.RUnlock()
	t := reflect.TypeOf(spec)
	if name, ok = registered.specs[t]; !ok && t != nil && t.Kind() == reflect.Pointer {
		name, ok = registered.specs[t.Elem()]
	}
	return name, ok
}

// KeepTransformer serializes a fitted step in a field of interface type, with the registered name
// of its type, for the State of a step that contains others.
func KeepTransformer(s *model.State, fitted *transformer.Transformer) { partState(s, fitted) }

// KeepPredictor serializes a fitted model in a field of interface type, with the registered name of
// its type, for the State of a model that contains others. It also serializes a [FittedPipeline];
// the Spec of a restored pipeline is nil.
func KeepPredictor(s *model.State, fitted *estimator.Predictor) { predictorstate.Part(s, fitted) }

// wholePipeline is the name of a fitted pipeline inside another model.
const wholePipeline = "pipeline"

// partState serializes a fitted value of interface type T with the registered name of its type.
func partState[T any](s *model.State, part *T) {
	kept := s.Part(*part, func(fitted any) bool { _, ok := fitted.(T); return ok })
	if fresh, ok := kept.(T); ok && s.Restoring() {
		*part = fresh
	}
}

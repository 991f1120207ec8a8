package pipeline

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/predictorstate"
	"github.com/bochner-ml/bochner/internal/specs"
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

// registry contains the steps by name, initially the built-in ones.
var registry = struct {
	sync.RWMutex
	entries []Entry
	specs   map[reflect.Type]string // name by type of the spec
}{entries: nil, specs: map[reflect.Type]string{}}

// Register adds a step, so that documents and model files can refer to it. Call it before any of
// them is read. It returns an error if the name or the type of the spec is already registered.
// Types are identified by their full package path.
func Register(e Entry) error {
	if !ValidName(e.Name) || e.New == nil || e.Fitted == nil {
		return fmt.Errorf("pipeline: register %q: wanted a name of letters, digits, _ and -, New and Fitted", e.Name)
	}
	spec, fitted := e.New(), e.Fitted()
	_, isStep := spec.(transformer.Fitter)
	_, isEstimator := spec.(estimator.Estimator)
	if !isStep && !isEstimator {
		return fmt.Errorf("pipeline: register %s: %s is neither a transformer nor an estimator", e.Name, typeName(spec))
	}
	if _, err := param.With(spec); err != nil {
		return fmt.Errorf("pipeline: register %s: %w", e.Name, err)
	}
	if fitted == nil {
		return fmt.Errorf("pipeline: register %s: Fitted must return an empty fitted value, got nil", e.Name)
	}
	registry.Lock()
	defer registry.Unlock()
	if slices.Contains(reserved, e.Name) {
		return fmt.Errorf("pipeline: register %s: the name is taken: it means something else in documents or model files",
			e.Name)
	}
	for _, o := range registry.entries {
		if o.Name == e.Name {
			return fmt.Errorf("pipeline: register %s: the name is taken by %s", e.Name, typeName(o.New()))
		}
	}
	specType := reflect.TypeOf(spec)
	if other, taken := registry.specs[specType]; taken {
		return fmt.Errorf("pipeline: register %s: the type %s is registered already, as %s", e.Name, typeName(spec), other)
	}
	if err := model.RegisterKind(e.Name, e.Fitted); err != nil {
		return fmt.Errorf("pipeline: register %s: %w", e.Name, err)
	}
	registry.entries = append(registry.entries, e)
	registry.specs[specType] = e.Name
	return nil
}

// reserved lists names with another meaning in documents or model files.
var reserved = []string{"name", wholePipeline}

// Registered returns all steps: the built-in ones, followed by the others, each in order of
// registration.
func Registered() []Entry {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.entries)
}

// Lookup returns the step with the given name.
func Lookup(name string) (e Entry, ok bool) {
	registry.RLock()
	defer registry.RUnlock()
	i := slices.IndexFunc(registry.entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return registry.entries[i], true
}

// EntryOf returns the entry of the type of spec.
func EntryOf(spec any) (e Entry, ok bool) {
	name, ok := registeredName(spec)
	if !ok {
		return Entry{}, false
	}
	return Lookup(name)
}

// EntryFor is EntryOf with an error that explains how to register the type.
func EntryFor(spec any) (Entry, error) {
	e, ok := EntryOf(spec)
	if !ok {
		return e, unregistered(spec)
	}
	return e, nil
}

// registeredName returns the registered name of the type of spec.
func registeredName(spec any) (name string, ok bool) {
	registry.RLock()
	defer registry.RUnlock()
	t := reflect.TypeOf(spec)
	if name, ok = registry.specs[t]; !ok && t != nil && t.Kind() == reflect.Pointer {
		name, ok = registry.specs[t.Elem()]
	}
	return name, ok
}

// typeName returns the type of v with its full package path, because package names are not unique.
func typeName(v any) string {
	t := reflect.TypeOf(v)
	star := ""
	for ; t != nil && t.Kind() == reflect.Pointer; t = t.Elem() {
		star += "*"
	}
	if t == nil || t.PkgPath() == "" {
		return fmt.Sprintf("%T", v)
	}
	return star + t.PkgPath() + "." + t.Name()
}

// unregistered returns the error for a spec that is not registered.
func unregistered(v any) error {
	return fmt.Errorf("%s is not registered: give it a name with pipeline.Register before it is written or read",
		typeName(v))
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

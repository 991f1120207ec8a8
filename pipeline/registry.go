package pipeline

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/transformer"
)

// Entry is what the registry knows about a step.
type Entry struct {
	Name string // in documents: "rff"
	Doc  string // what it does, in a sentence
	// New returns the spec with its defaults, a [transformer.Fitter] or an [estimator.Estimator].
	New func() any
	// Fitted returns an empty value of the type the spec is fitted to, for reading a model file.
	Fitted func() model.Stateful
}

// IsEstimator says whether the entry is an estimator, which can only be the last step.
func (e Entry) IsEstimator() bool {
	_, ok := e.New().(estimator.Estimator)
	return ok
}

// Params lists the parameters of the spec with their defaults.
func (e Entry) Params() []param.Param { return param.Own(e.New()) }

// registry is the steps by name. It holds the built-in ones from the start.
var registry = struct {
	sync.RWMutex
	entries []Entry
	specs   map[reflect.Type]string // name by the type of the spec
	fitted  map[reflect.Type]string // name by the type of what is fitted, the first of those that share it
}{entries: nil, specs: map[reflect.Type]string{}, fitted: map[reflect.Type]string{}}

// Register adds a step, so that documents and model files can name it. Call it before any of them
// is read. A name or a spec's type that is registered already is an error. A type is known by its
// package's whole path: two packages of one name may each have a type of one name.
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
	if fitted == nil {
		return fmt.Errorf("pipeline: register %s: Fitted returns nil, wanted an empty fitted value", e.Name)
	}
	registry.Lock()
	defer registry.Unlock()
	if slices.Contains(reserved, e.Name) {
		return fmt.Errorf("pipeline: register %s: the name is taken: it means something else in documents or model files", e.Name)
	}
	for _, o := range registry.entries {
		if o.Name == e.Name {
			return fmt.Errorf("pipeline: register %s: the name is taken by %s", e.Name, typeName(o.New()))
		}
	}
	specType, fittedType := reflect.TypeOf(spec), reflect.TypeOf(fitted)
	if other, taken := registry.specs[specType]; taken {
		return fmt.Errorf("pipeline: register %s: the type %s is registered already, as %s", e.Name, typeName(spec), other)
	}
	registry.entries = append(registry.entries, e)
	registry.specs[specType] = e.Name
	if _, shared := registry.fitted[fittedType]; !shared {
		registry.fitted[fittedType] = e.Name
	}
	return nil
}

// reserved names mean something else in a step of a document, or in a model file.
var reserved = []string{"name", wholePipeline}

// Registered lists all steps: the built-in ones, then those registered since, each in order.
func Registered() []Entry {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.entries)
}

// Lookup returns the step called name.
func Lookup(name string) (e Entry, ok bool) {
	registry.RLock()
	defer registry.RUnlock()
	i := slices.IndexFunc(registry.entries, func(e Entry) bool { return e.Name == name })
	if i < 0 {
		return Entry{}, false
	}
	return registry.entries[i], true
}

// EntryOf returns the step that the type of spec is registered as.
func EntryOf(spec any) (e Entry, ok bool) {
	name, ok := registeredName(spec)
	if !ok {
		return Entry{}, false
	}
	return Lookup(name)
}

// EntryFor is EntryOf with an error that says what to do where there is none.
func EntryFor(spec any) (Entry, error) {
	e, ok := EntryOf(spec)
	if !ok {
		return e, unregistered(spec)
	}
	return e, nil
}

// registeredName returns the name that the type of spec is registered under.
func registeredName(spec any) (name string, ok bool) {
	registry.RLock()
	defer registry.RUnlock()
	name, ok = registry.specs[reflect.TypeOf(spec)]
	return name, ok
}

// typeName is a value's type with its package's whole path, for two packages may have one name.
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

// unregistered is the error of a spec or a fitted value that the registry does not know.
func unregistered(v any) error {
	return fmt.Errorf("%s is not registered: give it a name with pipeline.Register before it is written or read", typeName(v))
}

// KeepTransformer keeps a fitted step behind the interface in a model file, with the name that its type
// is registered under: for the State of a step that holds others.
func KeepTransformer(s *model.State, fitted *transformer.Transformer) { partState(s, fitted) }

// KeepPredictor is KeepTransformer of a fitted model, or of a whole [FittedPipeline]. Of a wrapper that
// has no name and takes rows as the model within does, such as the result of a search, it keeps that model.
// The Spec of a pipeline that was read in this way is not known.
func KeepPredictor(s *model.State, fitted *estimator.Predictor) {
	if s.Reading() {
		partState(s, fitted)
		return
	}
	kept := *fitted
	for fittedName(kept) == "" {
		w, ok := kept.(estimator.Wrapper)
		if !ok {
			break
		}
		within, sameRows := w.Unwrap()
		if !sameRows || within == nil {
			break
		}
		kept = within
	}
	partState(s, &kept)
}

// wholePipeline is the name of a fitted pipeline within another model.
const wholePipeline = "pipeline"

// fittedName is the name that the type of a fitted value has in model files, "" where it has none.
func fittedName(fitted any) string {
	if _, ok := fitted.(*FittedPipeline); ok {
		return wholePipeline
	}
	registry.RLock()
	defer registry.RUnlock()
	return registry.fitted[reflect.TypeOf(fitted)]
}

// newFitted returns an empty fitted value of that name.
func newFitted(name string) (model.Stateful, bool) {
	if name == wholePipeline {
		return &FittedPipeline{}, true
	}
	e, ok := Lookup(name)
	if !ok {
		return nil, false
	}
	return e.Fitted(), true
}

// partState keeps a fitted value behind an interface, T, and the name its type is registered under.
func partState[T any](s *model.State, part *T) {
	var kind string
	if !s.Reading() {
		if kind = fittedName(*part); kind == "" {
			s.Fail("%w", unregistered(*part))
			return
		}
	}
	s.String("kind", &kind)
	if s.Err() != nil {
		return
	}
	if s.Reading() {
		empty, ok := newFitted(kind)
		if !ok {
			s.Fail("there is no step %q in this program; one with steps of its own adds them with pipeline.Register", kind)
			return
		}
		fresh, ok := empty.(T)
		if !ok {
			s.Fail("%s is not what belongs here", kind)
			return
		}
		*part = fresh
	}
	if keeps, ok := any(*part).(model.Stateful); ok {
		keeps.State(s.Child(kind))
	} else {
		s.Fail("%T cannot be kept in a model file", *part)
	}
}

package gridsearch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/spec/specs"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Axis is one parameter of the estimator and the values to try, in order.
//
// [RefitOneStdError] compares candidates parameter by parameter; the first difference decides which
// is simpler, as declared by methods of [param.List]:
//
//  1. the size of the model: fewer features, landmarks, grids, components or clusters;
//  2. the penalty: a larger alpha, a smaller C;
//  3. the kernel: a smaller gamma, which makes smoother functions.
//
// A value that is not a number, such as "scale" for gamma, is less simple than any number. Other
// parameters are ignored.
type Axis struct {
	Path   string // of a parameter of the estimator: "rff.gamma"
	Values []any
}

// MaxCandidates is the maximum number of candidates of a search; larger grids require Random.
const MaxCandidates = 1 << 20

// Log returns n values from lo to hi, both included, with a constant ratio. It returns none, which
// [Search] rejects as an empty axis, unless lo and hi are positive and finite and n is at least 2.
//
// Inner values are rounded to 12 significant digits, so that powers of ten are exact and all
// platforms have the same grid.
func Log(lo, hi float64, n int) []any {
	if !(lo > 0 && hi > 0) {
		return nil
	}
	return spaced(lo, hi, n, func(t float64) float64 {
		return math.Exp(math.Log(lo) + t*(math.Log(hi)-math.Log(lo)))
	})
}

// Lin returns n evenly spaced values from lo to hi, both included, rounded as in [Log]. It returns
// none unless lo and hi are finite and n is at least 2.
func Lin(lo, hi float64, n int) []any {
	return spaced(lo, hi, n, func(t float64) float64 { return lo*(1-t) + hi*t })
}

func spaced(lo, hi float64, n int, at func(t float64) float64) []any {
	if n < 2 || n > MaxCandidates || !finite(lo) || !finite(hi) {
		return nil
	}
	out := make([]any, n)
	for i := range out {
		v := at(float64(i) / float64(n-1))
		out[i], _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	}
	out[0], out[n-1] = lo, hi
	return out
}

func finite(v float64) bool { return v-v == 0 }

// candidate is a grid point and the spec with its values.
type candidate struct {
	point    point
	settings []param.Setting
	spec     estimator.Estimator
}

// axes returns the axes of the grid, or all errors of the grid and of the options.
func (s Search) axes() (axes, param.FieldErrors) {
	errs := s.checkOptions()
	if s.Estimator == nil {
		return nil, append(errs, param.FieldError{Path: "estimator", Constraint: "an estimator",
			Hint: "start from NewSearch(estimator, axes...)"})
	}
	if err := specs.CheckValue(s.Estimator); err != nil {
		return nil, append(errs, param.FieldError{Path: "estimator", Problem: err.Error()})
	}
	grid := make(axes, len(s.Grid))
	for i, a := range s.Grid {
		var more param.FieldErrors
		grid[i], more = s.settings(a)
		errs = append(errs, more...)
		if slices.ContainsFunc(s.Grid[:i], func(b Axis) bool { return b.Path == a.Path }) {
			errs = append(errs, param.FieldError{Path: a.Path, Problem: "given twice in the grid"})
		}
	}
	return grid, errs
}

// Random streams of a seed.
const (
	candidateStream = iota + 1
	partStream
	rowStream
)

// checkOptions returns the errors of the options, without those of the estimator, which the
// candidates report.
func (s Search) checkOptions() param.FieldErrors {
	alone := s
	alone.Estimator = nil
	errs := fieldErrors(specs.CheckFit(alone), "")
	if s.Workers < 0 {
		errs = append(errs, param.FieldError{Path: "workers", Value: s.Workers, Constraint: "an integer ≥ 0"})
	}
	if s.Random < 0 {
		errs = append(errs, param.FieldError{Path: "random", Value: s.Random, Constraint: "a number of candidates ≥ 0"})
	}
	if _, along := s.Strategy.(Coordinate); along && s.Random > 0 {
		errs = append(errs, param.FieldError{Path: "random", Problem: "a search along the axes draws no candidates"})
	}
	if s.Budget < 0 {
		errs = append(errs, param.FieldError{Path: "budget", Value: s.Budget, Constraint: "a time ≥ 0"})
	}
	if s.Memory < 0 {
		errs = append(errs, param.FieldError{Path: "memory", Value: s.Memory, Constraint: "a number of bytes ≥ 0"})
	}
	return errs
}

// settings returns the values of an axis as the parameter represents them, so that 1000.0 and 1000
// are equal.
func (s Search) settings(a Axis) ([]param.Setting, param.FieldErrors) {
	if _, err := param.Get(s.Estimator, a.Path); err != nil {
		return nil, s.unknown(a.Path, err)
	}
	var errs param.FieldErrors
	if len(a.Values) == 0 {
		errs = append(errs, param.FieldError{Path: a.Path, Problem: "no values to try"})
	}
	out := make([]param.Setting, 0, len(a.Values))
	seen := map[string]bool{}
	for _, v := range a.Values {
		spec, err := param.With(s.Estimator, param.Setting{Path: a.Path, Value: v})
		if err != nil {
			errs = append(errs, fieldErrors(err, a.Path)...)
			continue
		}
		plain, err := param.Get(spec, a.Path)
		if err != nil {
			errs = append(errs, fieldErrors(err, a.Path)...)
			continue
		}
		if key := fmt.Sprintf("%#v", plain); seen[key] {
			errs = append(errs, param.FieldError{Path: a.Path, Problem: fmt.Sprintf("%s is there twice", formatValue(plain))})
		} else {
			seen[key] = true
		}
		out = append(out, param.Setting{Path: a.Path, Value: plain})
	}
	return out, errs
}

// unknown returns the error of a path that the estimator does not have. It suggests the full paths
// that end in the last name of a path that is too short.
func (s Search) unknown(path string, err error) param.FieldErrors {
	errs := fieldErrors(err, path)
	name := path[strings.LastIndexByte(path, '.')+1:]
	var ends []string
	for _, p := range param.All(s.Estimator) {
		if p.Name == name {
			ends = append(ends, p.Path)
		}
	}
	if len(ends) > 0 && len(errs) == 1 {
		errs[0].Hint = "did you mean " + suggest.Alternatives(ends) + "?"
	}
	return errs
}

// candidates returns a candidate for each point, with additional settings. It reports each distinct
// error of the specs once.
func (s Search) candidates(grid axes, points []point, more ...param.Setting) ([]candidate, param.FieldErrors) {
	var errs param.FieldErrors
	seen := map[string]bool{}
	all := make([]candidate, len(points))
	for i, at := range points {
		settings := make([]param.Setting, len(grid))
		for k := range grid {
			settings[k] = grid[k][at[k]]
		}
		spec, err := param.With(s.Estimator, slices.Concat(more, settings)...)
		if err == nil {
			err = param.Check(spec)
		}
		for _, f := range fieldErrors(err, "") {
			if !seen[f.Error()] {
				seen[f.Error()] = true
				errs = append(errs, withCandidate(f, i, settings))
			}
		}
		all[i] = candidate{point: at, settings: settings}
		if spec, ok := spec.(estimator.Estimator); ok {
			all[i].spec = spec
		} else if err == nil {
			return nil, param.FieldErrors{{Path: "estimator",
				Problem: fmt.Sprintf("%T cannot be copied with other parameters and stay an estimator", s.Estimator)}}
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return all, nil
}

// withCandidate adds the candidate to an error.
func withCandidate(f param.FieldError, candidate int, settings []param.Setting) param.FieldError {
	if len(settings) > 0 {
		if f.Hint != "" {
			f.Hint += "; "
		}
		f.Hint += fmt.Sprintf("in candidate %d: %s", candidate, formatSettings(settings))
	}
	return f
}

// fieldErrors returns the field errors in err; any other error becomes one at path.
func fieldErrors(err error, path string) param.FieldErrors {
	if err == nil {
		return nil
	}
	var many param.FieldErrors
	if errors.As(err, &many) {
		return many
	}
	var one param.FieldError
	if errors.As(err, &one) {
		return param.FieldErrors{one}
	}
	return param.FieldErrors{{Path: path, Problem: err.Error(), Err: err}}
}

// formatSettings formats settings on one line: "rff.gamma=0.1 ridge.alpha=1".
func formatSettings(settings []param.Setting) string {
	words := make([]string, len(settings))
	for i, s := range settings {
		words[i] = s.Path + "=" + formatValue(s.Value)
	}
	return strings.Join(words, " ")
}

// formatValue formats a value: numbers round-trip, lists and maps are JSON.
func formatValue(plain any) string {
	switch v := plain.(type) {
	case nil:
		return "null"
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case []any, map[string]any:
		if raw, err := json.Marshal(v); err == nil {
			return string(raw)
		}
	}
	return fmt.Sprint(plain)
}

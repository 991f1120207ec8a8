package param

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// FieldError is one thing that is wrong in what a user wrote: where, what was found, what was wanted.
// Fields that do not apply are empty.
type FieldError struct {
	File         string // of a document
	Line, Column int    // in File, from 1; 0 for none in particular
	Path         string // of the parameter or key: "pipeline.rff.gamma"
	Value        any    // found there, where Wanted says what should be
	Constraint   string // in words: "a number > 0"
	Problem      string // instead of Value and Wanted: "unknown key"
	Hint         string // "did you mean gamma?"
	Err          error  // what the fault comes of, which errors.Is and errors.As find; nil for nothing
}

// Unwrap returns Err.
func (f FieldError) Unwrap() error { return f.Err }

// Error writes the fault on one line: file:line:column: path: must be …, got … (hint).
func (f FieldError) Error() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File + ":")
	}
	if f.Line > 0 {
		fmt.Fprintf(&b, "%d:", f.Line)
	}
	if f.Line > 0 && f.Column > 0 {
		fmt.Fprintf(&b, "%d:", f.Column)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	switch {
	case f.Problem != "":
		b.WriteString(f.Problem)
	case f.Constraint != "":
		fmt.Fprintf(&b, "must be %s, got %s", f.Constraint, show(f.Value))
	}
	if f.Hint != "" {
		b.WriteString(" (" + f.Hint + ")")
	}
	return b.String()
}

func show(plain any) string {
	switch v := plain.(type) {
	case nil:
		return "nothing"
	case string:
		return `"` + clip(inner(strconv.Quote(v))) + `"`
	}
	switch reflect.TypeOf(plain).Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Func, reflect.Chan, reflect.Complex64, reflect.Complex128:
		return clip(fmt.Sprintf("%T %v", plain, plain)) // what no document can hold
	}
	return clip(fmt.Sprint(plain))
}

// inner is what stands between the quotes.
func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// clip shortens a string to what a line has room for.
func clip(text string) string {
	if r := []rune(text); len(r) > 80 {
		return string(r[:77]) + "…"
	}
	return text
}

// FieldErrors is every fault of one document or spec.
type FieldErrors []FieldError

// Error writes one fault to a line.
func (f FieldErrors) Error() string {
	lines := make([]string, len(f))
	for i := range f {
		lines[i] = f[i].Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the faults one by one.
func (f FieldErrors) Unwrap() []error {
	out := make([]error, len(f))
	for i := range f {
		out[i] = f[i]
	}
	return out
}

// Err returns f as an error, nil where there is no fault.
func (f FieldErrors) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// errWanted says that a value is not what its parameter wants, which the parameter can say itself.
var errWanted = errors.New("not what is wanted")

// asFault places an error of setting or checking an entry.
func asFault(err error, path string, value any, e *entry) FieldError {
	f := FieldError{Path: path, Value: value}
	if e != nil {
		f.Constraint = e.Wanted
	}
	var given FieldError
	switch {
	case errors.As(err, &given):
		f.Problem, f.Hint, f.Err = given.Problem, given.Hint, given.Err
		if given.Constraint != "" {
			f.Constraint = given.Constraint
		}
	case err != errWanted:
		f.Constraint, f.Err = err.Error(), err
	}
	return f
}
<<<<<<< HEAD

// synonyms are names of scikit-learn and other libraries, without _ and in lower case, each with
// the names here that may be meant, the likelier ones first.
var synonyms = map[string][]string{
	"ncomponents":   {"features", "landmarks", "components"},
	"nfeatures":     {"features"},
	"dim":           {"features"},
	"nclusters":     {"clusters"},
	"k":             {"clusters"},
	"ninit":         {"restarts"},
	"randomstate":   {"seed"},
	"lambda":        {"alpha", "C"},
	"reg":           {"alpha", "C"},
	"l2":            {"alpha", "C"},
	"alpha":         {"C"},
	"c":             {"alpha"},
	"sigma":         {"gamma", "bandwidth"},
	"lengthscale":   {"gamma", "bandwidth"},
	"fitintercept":  {"intercept"},
	"maxiter":       {"max_iter", "epochs"},
	"lr":            {"learning_rate", "eta0"},
	"batchsize":     {"batch"},
	"classweights":  {"class_weight"},
	"cv":            {"folds"},
	"scoring":       {"score"},
	"fillvalue":     {"fill"},
	"handleunknown": {"unknown"},
	"minfrequency":  {"min_count"},
	"rbf":           {"gaussian", "rff"},

	"svc":                        {"svm"},
	"linearsvc":                  {"svm"},
	"linearsvr":                  {"svr"},
	"linear":                     {"ridge"},
	"linearregression":           {"ridge"},
	"logisticregression":         {"logistic"},
	"lasso":                      {"sgd_regressor"},
	"elasticnet":                 {"sgd_regressor"},
	"krr":                        {"kernel_ridge"},
	"gp":                         {"gaussian_process"},
	"gpr":                        {"gaussian_process"},
	"gaussianprocessregressor":   {"gaussian_process"},
	"gaussianprocessclassifier":  {"logistic"},
	"mlp":                        {"rff_network"},
	"mlpclassifier":              {"rff_network"},
	"mlpregressor":               {"rff_network"},
	"neuralnetwork":              {"rff_network"},
	"oneclasssvm":                {"one_class"},
	"spectralclustering":         {"spectral"},
	"rbfsampler":                 {"rff"},
	"randomfourier":              {"rff"},
	"scaler":                     {"standardize"},
	"standardscaler":             {"standardize"},
	"minmaxscaler":               {"minmax"},
	"robustscaler":               {"robust"},
	"quantiletransformer":        {"quantile"},
	"onehotencoder":              {"onehot"},
	"ordinalencoder":             {"ordinal"},
	"simpleimputer":              {"impute"},
	"columntransformer":          {"columns"},
	"featureunion":               {"union"},
	"transformedtargetregressor": {"target"},
	"calibratedclassifiercv":     {"calibrated"},
	"tunedthresholdclassifiercv": {"threshold"},
	"stackingclassifier":         {"ensemble"},
	"stackingregressor":          {"ensemble"},
	"votingclassifier":           {"ensemble"},
	"votingregressor":            {"ensemble"},
	"of":                         {"estimator"}, // these two by earlier development versions
	"least":                      {"min_resources"},
	"most":                       {"max_resources"},
	"optimise":                   {"optimize"},
}

// synonym returns the option that another library calls word, whose path may end in that name, or
// "" for none.
func synonym(word string, options []string) string {
	if inner := strings.ReplaceAll("."+word, ".of.", ".estimator.")[1:]; inner != word {
		return Nearest(inner, options)
	}
	at := strings.LastIndexByte(word, '.') + 1
	for _, name := range synonyms[strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(word[at:]))] {
		for _, o := range options {
			if o == word[:at]+name || strings.HasSuffix(o, "."+word[:at]+name) {
				return o
			}
		}
	}
	return ""
}

// Nearest returns the option that word was most likely meant to be: the one that other libraries
// call so, else the one with the most similar spelling, in which one letter in three may be wrong.
// It returns "" for none.
func Nearest(word string, options []string) string {
	if o := synonym(word, options); o != "" {
		return o
	}
	best, distance := "", (len(word)+1)/3+1
	for _, o := range options {
		if d := edits(strings.ToLower(word), strings.ToLower(o)); d < distance {
			best, distance = o, d
		}
	}
	return best
}

// edits is the number of letters to insert, drop, replace or swap with a neighbour (optimal string
// alignment) between a and b.
func edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	before, last, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}

// Few lists up to a dozen names, for a complaint.
func Few(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
=======
>>>>>>> d8caf156 (datasets, param: what only engines use is internal (rowblock, rowsource, suggest, specs))

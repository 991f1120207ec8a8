// Package experiment runs a whole experiment that one YAML file describes: the data, the pipeline,
// the search over its parameters, and the outputs.
//
//	ctx := context.Background()
//	spec, err := experiment.Load(ctx, "adult.yaml")
//	result, err := experiment.Run(ctx, spec, experiment.Options{})
//
// A file is data, never code: nothing in it is expanded, included or run. [Load] reports everything
// that is wrong with it at once, each complaint with its line, the value found and what was wanted,
// before any work is done; [Plan] says what a run would cost. [Run] writes into output.dir
//
//	spec.yaml         the experiment as resolved, every default and seed written out
//	result.json       scores, times, memory, versions, warnings: a [Result]
//	cv_results.csv    a row for each candidate of the search
//	predictions.csv   a row for each test row
//	model.bochner     the fitted pipeline with the schema of its data
//
// and [Evaluate], [Predict] and [Inspect] take such a model. Every file is whole or absent. A run
// that was stopped goes on where it was when it is started again.
package experiment

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// Spec is an experiment. Make one with [Load] or [Parse], which check it.
type Spec struct {
	Name     string
	Seed     uint64
	Data     Data
	Pipeline pipeline.Pipeline
	Search   *Search // nil for none
	Output   Output

	places *places // of its values in the file it was read from; nil for none
}

// Params declares the parameters of the sections; those of the steps and the grid are not among them.
func (s *Spec) Params(l *param.List) {
	l.String(&s.Name, "name", "Name of the experiment; that of the file when left out.")
	l.Seed(&s.Seed, "seed", "Where all random draws come from. Each step, the split and the folds have a stream of their own, derived from it.")
	l.Choice(&s.Pipeline.Precision, "precision", "Precision of the dense features that the estimator reads. float32 takes half the memory and about half the time.", pipeline.Float64, pipeline.Float32)
	l.Child("data", &s.Data)
	l.Child("search", &s.Search)
	l.Child("output", &s.Output)
}

// Data says which rows to learn from and what they are.
type Data struct {
	Train    string
	Test     string
	Dataset  string
	Split    Split
	Format   string
	CSV      CSV
	SVMLight SVMLight
	Target   Texts
	Positive Texts
	Suffix   string
	Task     string
	Weight   string
	Group    string
	Drop     []string
	Kinds    Kinds
	Dates    Dates
	Stream   string

	MissingTarget string
	files         fs.FS // where the files are; nil is the machine's own file system
}

// Params declares the keys of the section.
func (s *Data) Params(l *param.List) {
	l.String(&s.Train, "train", "File of the rows to learn from, relative to the experiment file.")
	l.String(&s.Test, "test", "File of the rows to test on, with the columns of the training file.")
	l.String(&s.Dataset, "dataset", "Built-in data instead of a file; `bochner datasets` lists them.")
	l.Child("split", &s.Split)
	l.Choice(&s.Format, "format", "Format of the files; auto goes by the ending (.csv .tsv .svm .libsvm .arff, each also .gz).", "auto", "csv", "tsv", "svmlight", "arff")
	l.Child("csv", &s.CSV)
	l.Child("svmlight", &s.SVMLight)
	l.Value(&s.Target, "target", "Column to predict, or several with numbers. Of a CSV or ARFF file the last one when left out; an svmlight file has its own.")
	l.Value(&s.Positive, "positive", "Values of the target that are the class of interest; all others are the class `rest`. When left out, scores of two classes speak of the second in order, of numbers or of letters: yes of no and yes.")
	l.String(&s.Suffix, "suffix", "Text behind each value of the target in some of the files that does not belong to it.")
	l.Choice(&s.Task, "task", "What to learn. auto: texts are classes, and so are at most 10 different whole numbers; other numbers are a quantity.", "auto", "classification", "regression")
	l.Choice(&s.MissingTarget, "missing_target", "What becomes of a row without a value of the target: it is an error, or the row is left out.", "error", "drop")
	l.String(&s.Weight, "weight", "Column of sample weights ≥ 0, which is no input.")
	l.String(&s.Group, "group", "Column that says which rows belong together, for grouped folds; no input.")
	l.Names(&s.Drop, "drop", "Columns that are no inputs.")
	l.Value(&s.Kinds, "kinds", "Kinds of columns where the values do not tell, such as codes that are written as numbers: {zip: categorical}.")
	l.Value(&s.Dates, "dates", "Columns of dates. The parts of each, numbers in columns such as sold_year and sold_month, take its place: {sold: [year, month, weekday]}, or {sold: {order: dmy, parts: [year, month]}} where the day comes first, mdy where the month does.")
	l.Choice(&s.Stream, "stream", "Whether to read the file block by block instead of holding it in memory. auto: when it is large and there is no search.", "auto", "always", "never")
}

// Split takes test rows from the training file.
type Split struct {
	Test     float64
	Stratify bool
	Shuffle  bool
}

// Params declares the keys of the section.
func (s *Split) Params(l *param.List) {
	l.Float(&s.Test, "test", "Share of the rows to test on, instead of a test file; 0 for none.", param.Range{High: 1, HighOpen: true})
	l.Bool(&s.Stratify, "stratify", "Keep the shares of the classes in both parts.")
	l.Bool(&s.Shuffle, "shuffle", "Choose the test rows at random; otherwise they are the last ones.")
}

// CSV says how a CSV or TSV file is written.
type CSV struct {
	Header    Header
	Columns   []string
	Missing   Texts
	Comment   string
	Delimiter string
	Skip      int
	Encoding  string
	Decimal   string
	Thousands string
}

// Params declares the keys of the section.
func (s *CSV) Params(l *param.List) {
	l.Value(&s.Header, "header", "Whether the first row names the columns. auto: it does, unless `columns` does.")
	l.Names(&s.Columns, "columns", "Names of the columns, when the file has no header or others are wanted.")
	l.Value(&s.Missing, "missing", "Texts that stand for a missing value, beside an empty field.")
	l.String(&s.Comment, "comment", "Lines that begin with this are left out.")
	l.String(&s.Delimiter, "delimiter", "What separates fields: one character, tab, or space for runs of blanks. A comma when left out, a tab for .tsv.")
	l.Int(&s.Skip, "skip", "Lines to leave out at the beginning.", param.AtLeast(0))
	l.Choice(&s.Encoding, "encoding", "Encoding of the file.", "utf-8", "latin-1", "windows-1252", "utf-16")
	l.Choice(&s.Decimal, "decimal", "Decimal mark of numbers.", ".", ",")
	l.Choice(&s.Thousands, "thousands", "Mark that may stand between groups of three digits.", "none", ",", ".", "'", "space")
}

// newCSV returns a section with the defaults.
func newCSV() CSV {
	return CSV{Header: Header{Auto: true}, Encoding: "utf-8", Decimal: ".", Thousands: "none"}
}

// isDefault says whether nothing is said about the file.
func (s CSV) isDefault() bool {
	return s.Header.Auto && len(s.Columns) == 0 && len(s.Missing) == 0 && s.Comment == "" && s.Delimiter == "" && s.Skip == 0 &&
		s.Encoding == "utf-8" && s.Decimal == "." && s.Thousands == "none"
}

// SVMLight says how an svmlight file is written.
type SVMLight struct {
	Features  int
	ZeroBased bool
}

// Params declares the keys of the section.
func (s *SVMLight) Params(l *param.List) {
	l.Int(&s.Features, "features", "Number of inputs; 0 for the largest index in the training file.", param.AtLeast(0))
	l.Bool(&s.ZeroBased, "zero_based", "Whether the first index is 0 and not 1.")
}

// Search is a grid search with cross-validation.
type Search struct {
	Grid    []gridsearch.Axis
	CV      CV
	Score   Score
	Refit   string
	Random  int
	Budget  Duration
	Halving Halving
}

// Params declares the keys of the section but the grid.
func (s *Search) Params(l *param.List) {
	l.Int(&s.CV.Folds, "folds", "Number of folds; short for cv.folds.", param.AtLeast(2))
	l.Child("cv", &s.CV)
	l.Value(&s.Score, "score", "Metric to choose by. auto: accuracy, for regression r2.")
	l.Choice(&s.Refit, "refit", "Candidate to fit on all training rows: the best, or the simplest whose score is within one standard error of it.", "best", "one_std_error")
	l.Int(&s.Random, "random", "Number of candidates that are tried, drawn from the grid at random; 0 for all of them.", param.AtLeast(0))
	l.Value(&s.Budget, "budget", "Time after which the search ends, such as 10m. The best of the candidates that are scored on every fold by then is fitted to all training rows. The same run again goes on from there, with as much time.")
	l.Child("halving", &s.Halving)
}

// CV is how rows are divided into folds.
type CV struct {
	Kind    string
	Folds   int
	Shuffle bool
}

// Params declares the keys of the section.
func (s *CV) Params(l *param.List) {
	l.Choice(&s.Kind, "kind", "How folds are made. auto: group when data.group is given, stratified for classification, else kfold. time keeps the order: it trains on what came before. loo predicts every row by the model of all others, exactly, and gcv by generalised cross-validation: for ridge and ridge_classifier behind steps that learn nothing from the rows.", "auto", "stratified", "kfold", "group", "time", "loo", "gcv")
	l.Int(&s.Folds, "folds", "Number of folds.", param.AtLeast(2))
	l.Bool(&s.Shuffle, "shuffle", "Assign rows to folds at random; otherwise in their order.")
}

// Output is where the results go.
type Output struct {
	Dir string
}

// Params declares the keys of the section.
func (s *Output) Params(l *param.List) {
	l.String(&s.Dir, "dir", "Folder for the outputs, relative to the working directory; runs/NAME when left out.")
}

// New returns a spec with the defaults, which lacks data and a pipeline.
func New() Spec {
	return Spec{
		Data: Data{
			Format: "auto", Task: "auto", Stream: "auto", MissingTarget: "error",
			Split: Split{Shuffle: true},
			CSV:   newCSV(),
		},
		Pipeline: pipeline.Pipeline{Precision: pipeline.Float64},
	}
}

// NewSearch returns a search with the defaults and an empty grid.
func NewSearch() *Search {
	return &Search{CV: CV{Kind: "auto", Folds: 5, Shuffle: true}, Refit: "best", Halving: Halving{Resource: "rows", Factor: 3}}
}

// Header says whether the first row of a CSV file names the columns.
type Header struct {
	Auto  bool // look whether columns are named elsewhere
	Given bool // unless Auto
}

// Set takes true, false or auto.
func (h *Header) Set(plain any) error {
	if plain == "auto" {
		*h = Header{Auto: true}
		return nil
	}
	given, ok := plain.(bool)
	if !ok {
		return param.Fault{Wanted: h.Wanted()}
	}
	*h = Header{Given: given}
	return nil
}

// Plain returns true, false or auto.
func (h *Header) Plain() any {
	if h.Auto {
		return "auto"
	}
	return h.Given
}

// Wanted says what Set takes.
func (h *Header) Wanted() string { return "true, false or auto" }

// Check finds no fault.
func (h *Header) Check() error { return nil }

// Texts is one text or several.
type Texts []string

// Set takes a scalar or a list of scalars, numbers as they are written.
func (t *Texts) Set(plain any) error {
	list, ok := plain.([]any)
	if !ok {
		list = []any{plain}
	}
	out := make(Texts, len(list))
	for i, v := range list {
		switch v.(type) {
		case nil, map[string]any, []any:
			return param.Fault{Wanted: t.Wanted()}
		}
		out[i] = fmt.Sprint(v)
	}
	*t = out
	return nil
}

// Plain returns a text where there is one, else a list.
func (t *Texts) Plain() any {
	if len(*t) == 1 {
		return (*t)[0]
	}
	out := make([]any, len(*t))
	for i, v := range *t {
		out[i] = v
	}
	return out
}

// Wanted says what Set takes.
func (t *Texts) Wanted() string { return "a text or a list of texts" }

// Check finds no fault.
func (t *Texts) Check() error { return nil }

// Kinds are the kinds of columns by name: numeric or categorical.
type Kinds map[string]string

// Set takes a map of names to kinds.
func (k *Kinds) Set(plain any) error {
	given, ok := plain.(map[string]any)
	if !ok {
		return param.Fault{Wanted: k.Wanted()}
	}
	out := Kinds{}
	for name, v := range given {
		kind, ok := v.(string)
		if !ok {
			return param.Fault{Wanted: k.Wanted()}
		}
		out[name] = kind
	}
	*k = out
	return out.Check()
}

// Plain returns a map.
func (k *Kinds) Plain() any {
	out := map[string]any{}
	for name, kind := range *k {
		out[name] = kind
	}
	return out
}

// Wanted says what Set takes.
func (k *Kinds) Wanted() string { return "names of columns, each with numeric or categorical" }

// Check looks for a kind that does not exist.
func (k *Kinds) Check() error {
	for _, name := range slices.Sorted(maps.Keys(*k)) {
		if _, err := datasets.ParseKind((*k)[name]); err != nil {
			return param.Fault{Wanted: k.Wanted(), Hint: fmt.Sprintf("%s is %q", name, (*k)[name])}
		}
	}
	return nil
}

// Dates are columns of dates with the parts that take their place.
type Dates map[string]datasets.Date

// Set takes names of columns, or a map of names to lists of parts or to {order: …, parts: …}.
func (d *Dates) Set(plain any) error {
	out := Dates{}
	switch given := plain.(type) {
	case []any:
		for _, name := range given {
			word, ok := name.(string)
			if !ok {
				return param.Fault{Wanted: d.Wanted()}
			}
			out[word] = datasets.Date{Parts: datasets.DateParts}
		}
	case map[string]any:
		for name, said := range given {
			date, ok := dateOf(said)
			if !ok {
				return param.Fault{Wanted: d.Wanted(), Hint: name + " has something else"}
			}
			out[name] = date
		}
	default:
		return param.Fault{Wanted: d.Wanted()}
	}
	*d = out
	return out.Check()
}

// dateOf reads what is said of one column.
func dateOf(said any) (date datasets.Date, ok bool) {
	date.Parts = datasets.DateParts
	given, ok := said.(map[string]any)
	if !ok {
		given = map[string]any{"parts": said}
	}
	for key, value := range given {
		switch key {
		case "order":
			if date.Order, ok = value.(string); !ok {
				return date, false
			}
		case "parts":
			list, ok := value.([]any)
			if !ok {
				return date, false
			}
			date.Parts = make([]string, len(list))
			for i, part := range list {
				if date.Parts[i], ok = part.(string); !ok {
					return date, false
				}
			}
		default:
			return date, false
		}
	}
	return date, true
}

// Plain returns a map of names to {order: …, parts: …}, without an order to lists of parts.
func (d *Dates) Plain() any {
	out := map[string]any{}
	for name, date := range *d {
		parts := []any{}
		for _, part := range date.Parts {
			parts = append(parts, part)
		}
		if out[name] = parts; date.Order != "" {
			out[name] = map[string]any{"order": date.Order, "parts": parts}
		}
	}
	return out
}

// Wanted says what Set takes.
func (d *Dates) Wanted() string {
	return "names of columns, each with a list of parts or with {order: dmy or mdy, parts: a list}; parts are " + strings.Join(datasets.DateParts, ", ")
}

// Check looks for an order or a part that does not exist.
func (d *Dates) Check() error {
	for _, name := range slices.Sorted(maps.Keys(*d)) {
		if err := (*d)[name].Check(); err != nil {
			return param.Fault{Wanted: d.Wanted(), Hint: fmt.Sprintf("%s: %v", name, err)}
		}
	}
	return nil
}

// columns returns the names of columns with the parts of dates in place of the dates.
func (d Dates) columns(names []string) []string {
	var out []string
	for _, name := range names {
		if date, ok := d[name]; ok {
			out = append(out, date.Names(name)...)
			continue
		}
		out = append(out, name)
	}
	return out
}

// Score is the name of a metric; "" chooses by the task.
type Score string

// Set takes the name of a metric, or auto.
func (s *Score) Set(plain any) error {
	name, ok := plain.(string)
	if !ok {
		return param.Fault{Wanted: s.Wanted()}
	}
	if name == "auto" {
		name = ""
	}
	*s = Score(name)
	return s.Check()
}

// Plain returns the name, auto for none.
func (s *Score) Plain() any {
	if *s == "" {
		return "auto"
	}
	return string(*s)
}

// Wanted says what Set takes.
func (s *Score) Wanted() string { return "the name of a metric, or auto" }

// Check looks whether there is such a metric.
func (s *Score) Check() error {
	if *s == "" {
		return nil
	}
	if _, err := metrics.ByName(string(*s)); err == nil {
		return nil
	}
	names := metrics.Names()
	for _, name := range slices.Clone(names) {
		names = append(names, "neg_"+name)
	}
	f := param.Fault{Wanted: s.Wanted()}
	if near := param.Nearest(string(*s), names); near != "" {
		f.Hint = "did you mean " + near + "?"
	}
	return f
}

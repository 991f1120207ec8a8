package experiment

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/sparse"
)

// DraftOptions say more about the data of a [Draft].
type DraftOptions struct {
	Target string // column to predict; the last one when empty
	Format string // csv, tsv, svmlight or arff; "" or auto goes by the ending and the first lines
	File   string // where the draft will be written, so that it names the data relative to itself
}

// draftRows is how many rows a draft looks at.
const draftRows = 100_000

// Draft returns a commented experiment file for a data file, from a look at its rows: the kinds of
// the columns, missing values, what the target may be, and a pipeline that suits them.
func Draft(ctx context.Context, path string, o DraftOptions) ([]byte, error) {
	spec := New()
	spec.Data.Train = path
	if o.Target != "" {
		spec.Data.Target = Texts{o.Target}
	}
	if o.Format != "" {
		set, err := param.With(spec, param.Setting{Path: "data.format", Value: o.Format})
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		spec = set.(Spec)
	}
	if err := spec.Data.sniff(path); err != nil {
		return nil, err
	}
	train, _, r, err := spec.openAll(ctx)
	if err != nil {
		return nil, err
	}
	if classes := train.Schema().Classes(); len(classes) == 1 {
		return nil, fmt.Errorf("experiment: column %s: one class only, %q; name another target", train.Schema().Targets[0].Name, classes)
	}
	look := &look{schema: train.Schema(), missing: make([]int, len(train.Schema().Columns))}
	look.rows, look.inputs = train.Dims()
	if err := look.at(ctx, train); err != nil {
		return nil, err
	}
	look.rows = max(look.rows, look.seen)
	d := draft{look: look, path: path, file: o.File, spec: spec.Data}
	d.target = look.schema.Targets[0].Name
	d.task = string(r.task)
	return []byte(d.text()), nil
}

// look is what a draft has seen of the rows.
type look struct {
	schema       datasets.Schema
	rows, inputs int
	seen         int   // rows
	missing      []int // values, by column
	sparse       bool
	sums         []float64 // of each column of sparse rows
	squares      float64   // sum of all squares of sparse rows
	counts       []int     // rows of each class
}

// at looks at the first rows.
func (l *look) at(ctx context.Context, source datasets.Source) error {
	enough := fmt.Errorf("enough")
	l.counts = make([]int, len(l.schema.Classes()))
	err := source.Blocks(ctx, func(block datasets.Set) error {
		if rows, ok := block.X.(*sparse.CSR); ok {
			l.sparse = true
			l.spread(rows)
		} else {
			l.gaps(block.X)
		}
		for _, y := range block.Y {
			if k := int(y); len(l.counts) > 0 && k >= 0 && k < len(l.counts) {
				l.counts[k]++
			}
		}
		if l.seen += block.Rows(); l.seen >= draftRows {
			return enough
		}
		return nil
	})
	if err == enough {
		return nil
	}
	return err
}

// gaps counts missing values.
func (l *look) gaps(X mat.Matrix) {
	rows, _ := X.Dims()
	for i := range rows {
		for j := range l.missing {
			if math.IsNaN(X.At(i, j)) {
				l.missing[j]++
			}
		}
	}
}

// spread adds up entries and their squares.
func (l *look) spread(X *sparse.CSR) {
	rows, cols := X.Dims()
	shared, _ := X.Shared()
	l.sums = append(l.sums, make([]float64, max(cols-len(l.sums), 0))...)
	for i := range rows {
		columns, values := X.Row(i)
		for k, j := range columns {
			v := shared
			if values != nil {
				v = values[k]
			}
			l.sums[j] += v
			l.squares += v * v
		}
	}
}

// variance is the sum of the variances of the columns as they reach the map: 1 for each that is
// standardized, and what was seen of sparse ones, which are not.
func (l *look) variance() float64 {
	if !l.sparse {
		return float64(max(l.inputs, 1))
	}
	n := float64(max(l.seen, 1))
	sum := l.squares / n
	for _, s := range l.sums {
		sum -= s / n * (s / n)
	}
	if sum > 0 {
		return sum
	}
	return 1
}

// draft writes an experiment from a look at its data.
type draft struct {
	*look
	path, file   string
	target, task string
	spec         Data
	b            strings.Builder
}

func (d *draft) line(format string, args ...any) { fmt.Fprintf(&d.b, format+"\n", args...) }

func (d *draft) text() string {
	base := strings.TrimSuffix(filepath.Base(d.path), ".gz")
	d.line("# An experiment on %s: %d rows, %d inputs.", filepath.Base(d.path), d.rows, d.inputs)
	d.line("# Check it with `bochner validate`, see what it costs with `bochner plan`, do it with `bochner run`.")
	d.line("name: %s", flow(strings.TrimSuffix(base, filepath.Ext(base))))
	d.line("seed: 0")
	d.data()
	d.pipeline()
	d.search()
	return d.b.String()
}

func (d *draft) data() {
	path := d.path
	if d.file != "" && d.file != "-" {
		path = seenFrom(d.file, path)
	}
	d.line("data:")
	d.line("  train: %s # path relative to this file", flow(path))
	stratify := ""
	if d.task == "classification" && slices.Min(d.counts) >= 2 {
		stratify = ", stratify: true"
	}
	d.line("  split: {test: 0.2%s} # or  test: FILE", stratify)
	d.dialect()
	if !d.spec.svm(d.path) {
		d.line("  target: %s", flow(d.target))
	}
	if d.task == "classification" {
		d.line("  task: classification # %d classes: %s", len(d.counts), d.shares())
	} else {
		d.line("  task: regression")
	}
	ids, empty := d.identifiers(), d.empty()
	var why []string
	if len(ids) > 0 {
		why = append(why, "a different text in almost every row")
	}
	if len(empty) > 0 {
		why = append(why, "no value in any row")
	}
	if len(why) > 0 {
		d.line("  drop: %s # %s", flow(list(append(ids, empty...))), strings.Join(why, ", or "))
	}
	for _, c := range d.schema.Columns {
		if example := numberAsText(c.Levels); example != "" {
			d.line("  # Column %s has texts that look like numbers, such as %s; to be read as such they need a decimal point and no other marks.", flow(c.Name), flow(example))
		}
	}
}

// written is a number as people write it: with a decimal comma, thousands apart, or a unit.
var written = regexp.MustCompile(`^[-+]?[$€£]? ?[0-9][0-9.,' ]*[$€£%]?$`)

// numberAsText returns one of the levels where nearly all are numbers in another notation.
func numberAsText(levels []string) string {
	alike := 0
	for _, level := range levels {
		if written.MatchString(level) {
			alike++
		}
	}
	if len(levels) < 10 || 10*alike < 9*len(levels) {
		return ""
	}
	return levels[slices.IndexFunc(levels, written.MatchString)]
}

// dialect says how the file is written, where that is not what is usual.
func (d *draft) dialect() {
	if d.spec.Format != "auto" {
		d.line("  format: %s", d.spec.Format)
	}
	var words []string
	if h := d.spec.CSV.Header; !h.Auto && !h.Given {
		words = append(words, "header: false")
	}
	if d.spec.CSV.Delimiter != "" {
		words = append(words, "delimiter: "+flow(d.spec.CSV.Delimiter))
	}
	if d.spec.CSV.Comment != "" {
		words = append(words, "comment: "+flow(d.spec.CSV.Comment))
	}
	if len(d.spec.CSV.Missing) > 0 {
		words = append(words, "missing: "+flow(d.spec.CSV.Missing.Plain()))
	}
	if len(words) == 0 {
		return
	}
	note := ""
	if words[0] == "header: false" {
		note = " # columns: [NAME, …] gives better names than x0, x1, …"
	}
	d.line("  csv: {%s}%s", strings.Join(words, ", "), note)
}

func list(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// shares lists the classes with their share of the rows.
func (d *draft) shares() string {
	const most = 8
	var words []string
	for k, class := range d.schema.Classes() {
		if k == most {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprintf("%s %.1f %%", strings.ReplaceAll(class, "\n", " "), 100*float64(d.counts[k])/float64(max(d.seen, 1))))
	}
	return strings.Join(words, ", ")
}

// identifiers are categorical columns that tell rows apart and nothing else.
func (d *draft) identifiers() []string {
	var out []string
	for _, c := range d.schema.Columns {
		if c.Kind == datasets.Categorical && d.rows >= 20 && 10*len(c.Levels) >= 9*d.rows {
			out = append(out, c.Name)
		}
	}
	return out
}

// empty are the columns without a value.
func (d *draft) empty() []string {
	var out []string
	for j, c := range d.schema.Columns {
		if d.seen > 0 && d.missing[j] == d.seen {
			out = append(out, c.Name)
		}
	}
	return out
}

// kinds counts the columns of each kind that are left, and the numeric ones with missing values.
func (d *draft) kinds() (numeric, categorical int, incomplete []string) {
	dropped := append(d.identifiers(), d.empty()...)
	for j, c := range d.schema.Columns {
		switch {
		case slices.Contains(dropped, c.Name):
		case c.Kind == datasets.Categorical:
			categorical++
		default:
			if numeric++; d.missing[j] > 0 {
				incomplete = append(incomplete, fmt.Sprintf("%s (%d)", c.Name, d.missing[j]))
			}
		}
	}
	return numeric, categorical, incomplete
}

func (d *draft) pipeline() {
	numeric, categorical, incomplete := d.kinds()
	scale := "standardize"
	if len(incomplete) > 0 {
		scale = "{impute: {strategy: median}}, standardize"
		d.line("# Missing values in %s.", strings.Join(incomplete[:min(len(incomplete), 8)], ", "))
	}
	d.line("pipeline:")
	switch {
	case d.sparse: // scaled already, as a rule, and centring would fill the zeros
	case categorical == 0:
		for _, step := range strings.Split(scale, "}}, ") {
			if strings.HasPrefix(step, "{") {
				step = strings.TrimPrefix(step, "{") + "}"
			}
			d.line("  - %s", step)
		}
	default:
		d.line("  - columns:")
		if numeric > 0 {
			d.line("      - {select: numeric, steps: [%s]} # %d columns", scale, numeric)
		}
		d.line("      - {select: categorical, steps: [{onehot: {min_count: %d}}]} # %d columns", d.minCount(), categorical)
	}
	d.line("  - rff: {kernel: gaussian, gamma: scale, features: %d}", d.features())
	if d.task == "classification" {
		d.line("  - logistic: {C: 1.0}")
	} else {
		d.line("  - ridge: {alpha: 1.0}")
	}
}

// minCount is how often a level must occur to have a column of its own.
func (d *draft) minCount() int {
	if d.rows < 1000 {
		return 1
	}
	return 10
}

// features is a width that the number of rows can carry.
func (d *draft) features() int {
	switch {
	case d.rows < 1000:
		return 200
	case d.rows < 10_000:
		return 500
	}
	return 1000
}

func (d *draft) search() {
	const folds = 5
	penalty, values := "logistic.C", "[0.1, 1, 10]"
	if d.task == "regression" {
		penalty, values = "ridge.alpha", "[0.01, 0.1, 1]"
	}
	middle := 1 / d.variance()
	d.line("search: # leave this section out to fit the pipeline as it is")
	d.line("  grid:")
	d.line("    rff.gamma: {log: [%s, %s, 5]} # or a list of values", round(middle/30), round(middle*3))
	d.line("    %s: %s", penalty, values)
	d.line("  folds: %d", folds)
	if d.task == "classification" && slices.Min(d.counts) < 2*folds {
		d.line("  cv: {kind: kfold} # a class has too few rows to be in every fold")
	}
	if d.task == "classification" {
		d.line("  score: accuracy")
	} else {
		d.line("  score: r2")
	}
	d.line("output: {dir: runs/%s} # relative to where the command is run", d.runName())
}

func (d *draft) runName() string {
	base := strings.TrimSuffix(filepath.Base(d.path), ".gz")
	name := strings.TrimSuffix(base, filepath.Ext(base))
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" :#{}[],&*!|>'\"%@`\\/", r) {
			return '_'
		}
		return r
	}, name)
}

// round writes a number with one digit.
func round(v float64) string {
	text := fmt.Sprintf("%.1g", v)
	if strings.Contains(text, "e") {
		return pointed(text)
	}
	return text
}

// Package scaffold writes a commented experiment file for undescribed data.
//
//	text, err := draft.Experiment(ctx, "adult.csv", draft.Options{Target: "income"})
//
// A pass over all rows profiles each column; the profile determines the treatment of the column,
// and all columns together the proposed pipeline and search.
package scaffold

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/internal/rows/rowfile"
	"github.com/bochner-ml/bochner/internal/spec/suggest"
	"github.com/bochner-ml/bochner/param"
)

// Options describe the data of a draft.
type Options struct {
	// Target is the target column, or several with commas between them; the last one if empty, but none
	// for an unsupervised task.
	Target string
	Task   string // task; "" means that of the target
	Format string // one of [reader.Formats]; "" or auto means that of the extension and the first lines
	File   string // path of the draft; data paths are relative to its directory

	Time  string // time column, by which the rows ascend; "" infers it
	Group string // group column; "" infers it

	More  []string  // additional files of rows
	Input io.Reader // content of the path "-"; nil is standard input

	// Remark, unless nil, receives problems and doubts about the data. The draft contains them as
	// comments.
	Remark func(text string)
}

// Experiment returns a commented experiment file for a data file, from a pass over all rows: kinds
// of columns, missing values, a target, and a matching pipeline and search. Doubts are in comments;
// any readable file has a draft.
func Experiment(ctx context.Context, path string, o Options) ([]byte, error) {
	text, _, err := experiment(ctx, path, o)
	return text, err
}

// experiment is Experiment, and where the files are.
func experiment(ctx context.Context, path string, o Options) (text []byte, where fs.FS, err error) {
	spec := config.New()
	spec.Data.Train = append(reader.Paths{path}, o.More...)
	if err := spec.Data.Spool(ctx, spec.Data.TrainAndTest(), o.Input); err != nil {
		return nil, nil, fmt.Errorf("experiment: %w", err)
	}
	if o.Target != "" && !strings.Contains(o.Target, ",") { // others are resolved once the columns are known
		spec.Data.Target = reader.Strings{o.Target}
	}
	for _, given := range []param.Setting{{Path: "data.format", Value: o.Format}, {Path: "data.task", Value: o.Task}} {
		if given.Value == "" {
			continue
		}
		set, err := param.With(spec, given)
		if err != nil {
			return nil, nil, fmt.Errorf("experiment: %w", err)
		}
		spec = set.(config.Spec)
	}
	if err := spec.Data.Sniff(spec.Data.Train); err != nil {
		return nil, nil, err
	}
	s, err := surveyOf(ctx, spec.Data)
	if err != nil {
		return nil, nil, err
	}
	d := &draft{survey: s, paths: spec.Data.Train, file: o.File, remark: o.Remark}
	if o.Task != "auto" {
		d.task = datasets.Task(o.Task)
		if err := d.task.Check(); err != nil {
			return nil, nil, fmt.Errorf("experiment: %w", err)
		}
	}
	if err := d.decide(o.Target); err != nil {
		return nil, nil, err
	}
	if err := (rowOrder{d}).detect(o.Time, o.Group); err != nil {
		return nil, nil, err
	}
	text = []byte(d.text())
	if len(text) > config.MaxBytes {
		return nil, nil, fmt.Errorf("experiment: the file would have %d bytes, and an experiment file has at most %d; "+
			"leave out columns of %s", len(text), config.MaxBytes, path)
	}
	return text, spec.Data.FS, nil
}

// decide forms an opinion of every column.
func (d *draft) decide(target string) error {
	if d.sparse {
		d.goal = goal{classes: d.classes, rows: d.rows}
		d.doubtGoal()
		return nil
	}
	at := d.columns[len(d.columns)-1].name
	if target != "" {
		at = target
	}
	none := target == "" && d.task.Unsupervised()
	if !none {
		d.goal.column = d.find(at)
	}
	if d.goal.column == nil && !none {
		d.goal.find(at, d.find)
	}
	if d.goal.column == nil && !none {
		return fmt.Errorf("%s: target: no column %q; there are %s", d.paths, at, suggest.List(d.names()))
	}
	d.notation = d.survey.notation()
	if d.goal.rows = d.rows; !none {
		if err := d.decideGoal(); err != nil {
			return fmt.Errorf("%s: %w", d.paths, err)
		}
	}
	for i := range d.columns {
		if p := &d.columns[i]; p != d.goal.column && !slices.Contains(d.goal.others, p) {
			c := p.judge(d.notation, preprocessing.MinCount(d.goal.rows))
			d.dropAmbiguous(&c)
			if c.use == textual && d.task.Unsupervised() {
				c.use, c.reason = dropped, "text, which would be many columns; tfidf and pca make numbers of it"
			}
			if c.format.Name && d.task.Unsupervised() {
				c.format, c.reason = datasets.Format{}, ""
			}
			d.words = append(d.words, c.words...)
			d.inputs = append(d.inputs, c)
		}
	}
	return nil
}

// dropAmbiguous drops a column with a missing-value marker that is also the name of a class.
func (d *draft) dropAmbiguous(c *columnPlan) {
	for _, word := range c.words {
		if slices.ContainsFunc(d.goal.classes, func(l valueCount) bool { return l.name == word }) {
			c.use, c.reason, c.words, c.caveat = dropped, c.caveat, nil, ""
			return
		}
	}
}

// decideGoal decides between classification and regression.
func (d *draft) decideGoal() error {
	p, g := d.goal.column, &d.goal
	g.rows = p.values()
	all, complete := p.tally.all()
	numbers := p.numbers[d.notation]
	strs := g.rows - numbers
	switch {
	case d.task != datasets.AnyTask:
		if d.task != datasets.Regression {
			g.classes = all
		}
	case p.declared && p.kind == datasets.Categorical || p.coded():
		g.classes = all
	case p.declared:
	case strs > 0 && 10*numbers >= 9*g.rows && p.distinctTexts() <= maxWords && len(all) > reader.MaxInferredClasses:
		var c columnPlan
		c.profile = p
		p.strange(&c, strs)
		d.words = append(d.words, c.words...)
		g.rows -= strs
		g.doubts = append(g.doubts, c.caveat)
	case strs > 0:
		g.classes = all
		names := make([]string, len(all))
		for i, l := range all {
			names[i] = l.name
		}
		if err := reader.CheckClasses(p.name, names); err != nil {
			return err
		}
	}
	if strs == 0 && g.classes == nil && d.task == datasets.AnyTask && complete &&
		len(all) <= reader.MaxInferredClasses &&
		2*len(all) <= g.rows && wholeNumbers(all) {
		g.classes = all
		slices.SortFunc(g.classes, func(a, b valueCount) int { return compareNumbers(a.name, b.name) })
	}
	if len(g.classes) == 0 {
		g.classes = nil
	}
	if err := d.decideTargets(all); err != nil {
		return err
	}
	d.doubtGoal()
	return nil
}

// doubtGoal adds doubts about the target.
func (d *draft) doubtGoal() {
	g := &d.goal
	printf := func(format string, args ...any) { g.doubts = append(g.doubts, fmt.Sprintf(format, args...)) }
	switch {
	case g.rows == 0:
		printf("no row has a value of it: name another target")
	case len(g.classes) == 1:
		printf("there is one class only, %s: nothing to learn; name another target", printable(g.classes[0].name))
	case g.column != nil && g.classes == nil && len(g.column.tally.counts) == 1:
		printf("it is the same in every row: nothing to learn; name another target")
	case g.rows >= 20 && 2*len(g.classes) > g.rows:
		printf("%d distinct strings in %d rows are unlikely to be classes; is it the right target?", len(g.classes), g.rows)
	}
	if p := g.column; p != nil && p.declared && g.rows < d.rows {
		g.rows = d.rows
	}
}

// wholeNumbers reports whether all values are integers.
func wholeNumbers(all []valueCount) bool {
	return !slices.ContainsFunc(all, func(l valueCount) bool {
		v, err := strconv.ParseFloat(l.name, 64)
		return err != nil || v != float64(int64(v))
	})
}

func compareNumbers(a, b string) int {
	v, _ := strconv.ParseFloat(a, 64)
	w, _ := strconv.ParseFloat(b, 64)
	switch {
	case v < w:
		return -1
	case v > w:
		return 1
	}
	return strings.Compare(a, b)
}

func (d *draft) text() string {
	inputs := len(d.inputs)
	if d.sparse {
		inputs = d.survey.inputs
	}
	d.line("# An experiment on %s: %d rows, %d inputs.", printable(filepath.Base(reader.DisplayName(d.paths.String()))),
		d.rows, inputs)
	d.line("# Check it with `bochner validate`, see what it costs with `bochner plan`, do it with `bochner run`.")
	for _, text := range d.remarks {
		d.doubt("", "%s", text)
	}
	d.line("name: %s", config.Flow(Name(d.paths)))
	d.line("seed: 0")
	d.dataSection()
	d.pipelineSection()
	d.searchSection()
	d.line("output: {dir: runs/%s} # relative to where the command is run", d.runName())
	return d.b.String()
}

func (d *draft) dataSection() {
	paths := slices.Clone(d.paths)
	for i, path := range paths {
		if d.file != "" && d.file != "-" {
			paths[i] = config.SeenFrom(d.file, path)
		}
	}
	d.line("data:")
	d.line("  train: %s # path relative to this file", config.Flow(paths.Get()))
	switch {
	case d.task == datasets.Clustering || d.task == datasets.Anomaly && d.goal.classes == nil:
		d.line("  # All rows are learned from; split: {test: 0.2} holds some out.")
	case d.goal.rows < 10:
		d.line("  # With so few rows none are set aside to test on.")
	case d.time != "":
		d.line("  split: {test: 0.2, shuffle: false} # the last rows: they ascend by %s; or  test: FILE", printable(d.time))
	case d.group != "":
		d.line("  split: {test: 0.2} # of the groups; or  test: FILE")
	case d.goal.classes != nil && !d.goal.labels && d.goal.smallest() >= 2:
		d.line("  split: {test: 0.2, stratify: true} # or  test: FILE")
	default:
		d.line("  split: {test: 0.2} # or  test: FILE")
	}
	d.dialect()
	d.target()
	rowOrder{d}.write()
	d.drops()
	d.kinds()
	d.dates()
	if !d.sparse && !slices.ContainsFunc(d.inputs, func(c columnPlan) bool { return c.use < grouping }) {
		d.doubt("  ", "No column is left to learn from.")
	}
	for _, c := range d.inputs {
		if c.caveat != "" && c.use != dates {
			d.doubt("  ", "Column %s: %s.", printable(c.name), c.caveat)
		}
	}
}

// target writes the target.
func (d *draft) target() {
	g := &d.goal
	if g.column != nil {
		if d.line("  target: %s", config.Flow(g.names())); g.lists != "" {
			d.line("  labels: {delimiter: %s} # %d labels; an empty list has none", config.Flow(g.lists), g.countLabels())
		} else if len(g.others) > 0 && g.incomplete() {
			d.line("  missing_target: drop # rows without a value of each")
		} else if missing := d.rows - g.rows; missing > 0 || g.column.declared && g.column.missing > 0 {
			total := d.rows
			if g.column.declared {
				missing, total = g.column.missing, d.rows+g.column.missing
			}
			d.line("  missing_target: drop # %d of %d rows have no value of it", missing, total)
		}
	}
	switch {
	case d.task.Unsupervised():
		d.scoring()
	case g.labels:
		d.line("  task: multilabel")
	case g.classes != nil:
		d.line("  task: classification # %d classes: %s", len(g.classes), d.shares())
	case d.sparse && d.task == datasets.AnyTask:
		d.line("  task: regression # the labels are taken as numbers; if they are classes: classification")
	default:
		d.line("  task: regression")
	}
	for _, text := range g.doubts {
		d.doubt("  ", "The target: %s.", text)
	}
}

// scoring writes a target that is used for scores only.
func (d *draft) scoring() {
	g := &d.goal
	if g.classes == nil {
		d.line("  task: %s # target: NAME would only score what is found", d.task)
		return
	}
	if d.task == datasets.Anomaly {
		rarest := slices.MinFunc(g.classes, func(a, b valueCount) int { return a.count - b.count })
		d.line("  positive: %s # the values of the target that are anomalies: here the rarest", config.Flow(rarest.name))
	}
	d.line("  task: %s # nothing is learned from the target, which scores: %s", d.task, d.shares())
}

// shares lists the classes with their share of the rows.
func (d *draft) shares() string {
	const most = 8
	var words []string
	for k, class := range d.goal.classes {
		if k == most {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprintf("%s %.1f %%", printable(class.name),
			100*float64(class.count)/float64(max(d.goal.rows, 1))))
	}
	return strings.Join(words, ", ")
}

// dialect writes the format of the file, if it is not the default.
func (d *draft) dialect() {
	if d.data.Format != "auto" {
		d.line("  format: %s", d.data.Format)
	}
	c := d.data.CSV
	var words []string
	printf := func(key string, value any) { words = append(words, key+": "+config.Flow(value)) }
	note := ""
	switch {
	case len(c.Columns) > 0:
		printf("header", true)
		printf("columns", list(c.Columns))
	case !c.Header.Auto && !c.Header.Given:
		printf("header", false)
		note = " # columns: [NAME, …] gives better names than x0, x1, …"
	}
	if c.Delimiter != "" {
		printf("delimiter", c.Delimiter)
	}
	if c.Quote == "none" {
		printf("quote", c.Quote)
	}
	if c.Comment != "" {
		printf("comment", c.Comment)
	}
	if c.Encoding != "utf-8" {
		printf("encoding", c.Encoding)
	}
	if n := reader.Notations[d.notation]; d.notation > 0 {
		if n.Decimal != "." {
			printf("decimal", n.Decimal)
		}
		if slices.ContainsFunc(d.columns, func(p profile) bool {
			return p.grouped[d.notation] > 0 && p.numbers[0] < p.values()
		}) {
			printf("thousands", n.Thousands)
		}
	}
	if missing := d.survey.words(d.words); len(missing) > 0 {
		printf("missing", missing.Get())
	}
	if len(words) > 0 {
		d.line("  csv: {%s}%s", strings.Join(words, ", "), note)
	}
}

func list(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// maxConstant is the number of constant columns up to which each is dropped by name.
const maxConstant = 1000

// drops lists the columns that are left out, each with the reason.
func (d *draft) drops() {
	constant := 0
	for _, c := range d.inputs {
		if c.use == dropped && c.reason == sameValue {
			constant++
		}
	}
	if constant > maxConstant { // constant inputs have no effect; listing all would make the file too long
		d.doubt("  ", "%d columns have the same value in every row. They are not listed under drop; standardize makes "+
			"them 0.", constant)
	}
	begun := false
	for _, c := range d.inputs {
		if c.use != dropped || c.reason == sameValue && constant > maxConstant {
			continue
		}
		if !begun {
			d.line("  drop:")
			begun = true
		}
		d.line("    - %s # %s", config.Flow(c.name), oneLine(c.reason))
		if d.remark != nil {
			d.remark(fmt.Sprintf("Column %s is dropped: %s.", printable(c.name), c.reason))
		}
	}
}

// kinds writes the kinds of ambiguous columns.
func (d *draft) kinds() {
	begun := false
	for _, c := range d.inputs {
		if c.use >= dates || c.use != textual && (c.reason == "" || c.declared) {
			continue
		}
		if !begun {
			d.line("  kinds:")
			begun = true
		}
		kind := datasets.Categorical.String()
		switch {
		case c.format.Unit != "":
			kind = fmt.Sprintf("{number: %s}", config.Flow(c.format.Unit))
		case c.format.Delimiter != "":
			kind = fmt.Sprintf("{labels: %s}", config.Flow(c.format.Delimiter))
		case c.format.Name:
			kind = "name"
		case c.use == textual:
			kind = datasets.Text.String()
		}
		d.line("    %s %s # %s", config.Key(c.name, "    "), kind, oneLine(c.reason))
		if d.remark != nil && (c.use == textual || c.format != datasets.Format{}) {
			d.remark(fmt.Sprintf("Column %s: %s.", printable(c.name), oneLine(c.reason)))
		}
	}
}

// dates lists the columns of dates.
func (d *draft) dates() {
	begun := false
	for _, c := range d.inputs {
		if c.use != dates {
			continue
		}
		if !begun {
			d.line("  dates: # columns whose parts become numbers")
			begun = true
		}
		if c.caveat != "" {
			d.doubt("    ", "Column %s: %s.", printable(c.name), c.caveat)
		}
		parts := config.Flow(list(c.date.Parts))
		if c.date.Order != "" {
			parts = fmt.Sprintf("{order: %s, parts: %s}", c.date.Order, parts)
		}
		d.line("    %s %s", config.Key(c.name, "    "), parts)
	}
}

// Name returns the name of an experiment: that of the first file, or of the directory of a pattern. A name
// without information about the data follows that of its directory, as in houses-train.
func Name(paths []string) string {
	first := filepath.ToSlash(paths[0])
	if reader.ReadOnce(first) {
		return "rows"
	}
	base := strings.TrimSuffix(filepath.Base(first), ".gz")
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if !rowfile.IsPattern(name) {
		return qualified(name, filepath.Dir(first))
	}
	if folder := filepath.Base(filepath.Dir(first)); folder != "." && folder != "/" && !rowfile.IsPattern(folder) {
		return folder
	}
	if name = strings.Trim(name[:strings.IndexAny(name, "*?[")], "-_. "); name != "" {
		return name
	}
	return "rows"
}

// genericNames are names of files and directories that many data sets have.
var genericNames = []string{"train", "training", "data", "dataset", "test", "input", "inputs", "rows", "table", "raw",
	"file", "files", "all", "full"}

// qualified returns the name of a file in a directory, after that of the nearest directory with a name of
// its own if the name is generic.
func qualified(name, directory string) string {
	generic := func(name string) bool { return slices.Contains(genericNames, strings.ToLower(name)) }
	if !generic(name) {
		return name
	}
	for ; ; directory = filepath.Dir(directory) {
		switch folder := filepath.Base(directory); {
		case folder == "." || folder == ".." || folder == string(filepath.Separator) || rowfile.IsPattern(folder):
			return name
		case !generic(folder):
			return folder + "-" + name
		}
	}
}

func (d *draft) runName() string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" :#{}[],&*!|>'\"%@`\\/", r) {
			return '_'
		}
		return r
	}, Name(d.paths))
}

// Spec returns the draft for a data file as a spec without a file.
func Spec(ctx context.Context, path string, o Options) (config.Spec, error) {
	o.File = "" // the data are named as they are here
	text, where, err := experiment(ctx, path, o)
	if err != nil {
		return config.Spec{}, err
	}
	read := config.Decode("", text)
	read.Spec.Data.FS = where
	return read.Spec.Unplaced(), read.Err()
}

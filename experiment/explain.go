package experiment

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/experiment/report"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
)

const (
	explainedRows   = 256    // rows of a block
	interactionRows = 100    // rows on which interactions are measured
	clusteredRows   = 10_000 // background rows for k-means
)

// explanations explains the rows of a model, block after block.
type explanations struct {
	m          *opened
	background datasets.Set
	from       string
	options    inspection.ShapleyOptions
	rows       int // explained so far
}

// explanations reads the background; nil without explanations.
func (m *opened) explanations(ctx context.Context, o Options) (*explanations, error) {
	if o.Explain == nil {
		return nil, nil
	}
	if m.Task == datasets.Clustering {
		return nil, errors.New("experiment: cannot explain a clustering: its output is not a quantity")
	}
	if config.Precomputed(m.Spec()) {
		return nil, errors.New("experiment: cannot explain a model of kernel: precomputed: its inputs are kernel values")
	}
	if o.Explain.Background < 0 {
		return nil, fmt.Errorf("experiment: background must be ≥ 1, or 0 for %d, got %d", backgroundRows,
			o.Explain.Background)
	}
	rows := cmp.Or(o.Explain.Background, backgroundRows)
	e := &explanations{m: m, options: inspection.ShapleyOptions{Method: o.Explain.Method, Background: rows}}
	most := rows
	if o.Explain.KMeans {
		most = clusteredRows
	}
	var err error
	if o.Explain.BackgroundFile != "" {
		e.from = o.Explain.BackgroundFile
		e.background, err = m.backgroundFile(ctx, e.from, most, o)
	} else {
		e.from = "training rows"
		e.background, err = m.trainingRows(ctx, most)
	}
	if err == nil && o.Explain.KMeans && e.background.Rows() > rows {
		e.from += ", by k-means"
		e.background, err = inspection.KMeansBackground(ctx, e.background, rows, 0)
	}
	return e, err
}

// backgroundFile reads background rows from a file.
func (m *opened) backgroundFile(ctx context.Context, path string, most int, o Options) (datasets.Set, error) {
	o.ExtraFiles, o.Keep, o.onInvalid = nil, nil, nil
	source, end, err := m.rows(ctx, path, false, o)
	if err != nil {
		return datasets.Set{}, err
	}
	defer end()
	all, err := datasets.ReadAll(ctx, source)
	return all.EvenlySpaced(most), err
}

// trainingRows reads training rows of the run in whose directory the model is.
func (m *opened) trainingRows(ctx context.Context, most int) (datasets.Set, error) {
	fail := func(err error) (datasets.Set, error) {
		return datasets.Set{}, fmt.Errorf("experiment: cannot read the training rows of %s: %w; use --background-file FILE",
			m.path, err)
	}
	at, _ := specOf(filepath.Dir(m.path))
	if at == "" {
		return fail(errors.New("no spec.yaml in its directory"))
	}
	spec, err := LoadOptions{Continue: m.path}.Load(ctx, at)
	if err != nil {
		return fail(err)
	}
	end, err := connect(ctx, &spec)
	if err != nil {
		return fail(err)
	}
	defer end()
	parts, err := read(ctx, spec, Options{})
	if err != nil {
		return fail(err)
	}
	n, _ := parts.Train.Dims()
	if n < 0 && m.Profile != nil {
		n = m.Profile.Rows
	}
	some, err := sampled(ctx, parts.Train, n, most)
	if err != nil {
		return fail(err)
	}
	return some, nil
}

// block explains consecutive rows.
func (e *explanations) block(ctx context.Context, rows datasets.Set) (inspection.ShapleyValues, error) {
	o := e.options
	o.Seed = uint64(e.rows)
	values, err := inspection.Shapley(ctx, e.m.Predictor, e.background, rows, o)
	if err != nil {
		return values, datasets.FromRow(err, e.rows)
	}
	e.rows += rows.Rows()
	if targets := e.m.Schema.Targets; len(values.Outputs) == 1 && values.Outputs[0].Name == "" && len(targets) == 1 {
		values.Outputs[0].Name = targets[0].Name
	}
	return values, nil
}

// columns returns the base and the Shapley values of consecutive rows, for each output, and the names of the columns.
// Of a classifier the first is the output that they add up to, which has no other column.
func (e *explanations) columns(ctx context.Context, rows datasets.Set) (*mat.Dense, []string, error) {
	values, err := e.block(ctx, rows)
	if err != nil {
		return nil, nil, err
	}
	first := 0
	if m := estimator.OutputsOf(e.m.Predictor); m.Classes != nil {
		first = 1
	}
	d := first + 1 + len(values.Inputs)
	out, names := mat.NewDense(rows.Rows(), d*len(values.Outputs), nil), []string{}
	for q, o := range values.Outputs {
		suffix := ""
		if len(values.Outputs) > 1 {
			suffix = "_" + o.Name
		}
		if first > 0 {
			names = append(names, "explained"+suffix)
		}
		names = append(names, "base"+suffix)
		for _, name := range values.Inputs {
			names = append(names, "shapley_"+name+suffix)
		}
		for i, phi := range o.Values {
			row := out.RawRowView(i)[q*d:][:d]
			row[0] = o.Predictions[i]
			row[first] = o.Base
			copy(row[first+1:], phi)
		}
	}
	return out, names, nil
}

// Explain returns the Shapley values of a model file for the rows of a file, pattern or directory. The base is the mean
// prediction of background rows; see o.Explain. Progress has the phase "explain".
func Explain(ctx context.Context, model, data string, o Options) (result.Explanation, error) {
	m, err := openModel(model)
	if err != nil {
		return result.Explanation{}, err
	}
	return m.explainRows(ctx, data, o)
}

func (m *opened) explainRows(ctx context.Context, data string, o Options) (out result.Explanation, err error) {
	if o.Explain == nil {
		o.Explain = &ExplainOptions{}
	}
	o.Progress.report("load", 0, 0)
	e, err := m.explanations(ctx, o)
	if err != nil {
		return out, err
	}
	source, end, err := m.rows(ctx, data, false, o)
	if err != nil {
		return out, err
	}
	defer end()
	defer func() { err = m.explain(ctx, err, source, data) }()
	rows, err := datasets.ReadAll(ctx, source)
	if err != nil {
		return out, err
	}
	unknown := m.unknown()
	if err := unknown.Add(ctx, rows.X); err != nil {
		return out, err
	}
	out = result.Explanation{Name: m.Name, Task: string(m.Task), BackgroundFrom: e.from,
		UnknownCategories: o.warnUnknown(unknown)}
	for lo := 0; lo < rows.Rows(); lo += explainedRows {
		values, err := e.block(ctx, rows.Slice(lo, min(lo+explainedRows, rows.Rows())))
		if err != nil {
			return out, err
		}
		out.ShapleyValues = out.Append(values)
		o.Progress.report("explain", e.rows, rows.Rows())
	}
	if out.Method == inspection.MethodExact {
		out.Partners, err = e.partners(ctx, rows.EvenlySpaced(interactionRows))
	}
	return out, err
}

// partners returns the input with the strongest interaction for each output and input.
func (e *explanations) partners(ctx context.Context, rows datasets.Set) (out [][]int, err error) {
	o := e.options
	o.Interactions = true
	values, err := inspection.Shapley(ctx, e.m.Predictor, e.background, rows, o)
	for _, output := range values.Outputs {
		of := make([]int, len(values.Inputs))
		for j := range of {
			of[j] = output.Partner(j)
		}
		out = append(out, of)
	}
	return out, err
}

// ExplainFile is the function [Explain] to a file, written atomically. The extension of the file is the format, see
// [report.WriteExplanation].
func (o Options) ExplainFile(ctx context.Context, model, data, out string) (e result.Explanation, err error) {
	format := strings.TrimPrefix(strings.ToLower(filepath.Ext(out)), ".")
	if !slices.Contains([]string{"csv", "json", "html", "npz"}, format) {
		return e, fmt.Errorf("experiment: file extension must be .csv, .json, .html or .npz, got %q", filepath.Ext(out))
	}
	m, err := openModel(model)
	if err != nil {
		return e, err
	}
	err = m.writeFile(data, out, o, func(w *bufio.Writer) error {
		if e, err = m.explainRows(ctx, data, o); err != nil {
			return err
		}
		return report.WriteExplanation(w, format, e)
	})
	return e, err
}

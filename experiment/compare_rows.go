package experiment

import (
	"context"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/predictions"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/runtime/ctxerr"
	"github.com/bochner-ml/bochner/metrics"
	"github.com/bochner-ml/bochner/metrics/compare"
)

// pairing is a run paired with the reference run.
type pairing struct {
	onlyFirst, only int              // rows that only one gets right
	errors          []compare.Paired // of each target
}

// compareRows pairs the predictions of the test rows and tests their differences.
func compareRows(ctx context.Context, runs []finishedRun, c *result.Comparison, costs runCosts,
	wrong *incomparableRunsError) error {
	if c.TestRows == 0 {
		c.Notes = append(c.Notes, "There are no test rows. Training scores are optimistic.")
		return nil
	}
	b := &rowComparison{runs: runs, loss: rowLoss(c.Score),
		classes: c.Task == string(datasets.Classification), wrong: wrong}
	if c.Score == "cost" {
		b.costs = costs
	}
	defer b.close()
	b.open()
	if err := b.read(ctx); err != nil || len(wrong.Problems) > 0 {
		return err
	}
	switch {
	case !b.classes && c.Task != string(datasets.Regression):
		c.Notes = append(c.Notes, "Scores of "+c.Task+" are not tested: they are no sums over rows.")
		return nil
	case b.paired < 2:
		c.Notes = append(c.Notes, "There are fewer test rows with a truth than two: nothing is tested on them.")
		return nil
	}
	if runs[0].spec.Data.Weight != "" {
		c.Notes = append(c.Notes, "Scores count rows by their weights; tests count each row once.")
	}
	return b.test(c)
}

// rowComparison reads the predictions of several runs for the same rows.
type rowComparison struct {
	runs    []finishedRun
	loss    *metrics.Metric // nil for squared errors
	classes bool
	costs   runCosts // to test instead of the accuracy; without a table for none
	wrong   *incomparableRunsError
	files   []*predictions.Reader // nil after the end of a file
	targets []string
	pairs   []pairing // of each run with the first, whose own is empty
	paired  int       // rows that have a truth
}

func (b *rowComparison) close() {
	for _, f := range b.files {
		if f != nil {
			f.Close()
		}
	}
}

// open opens all files and looks whether they have the same columns.
func (b *rowComparison) open() {
	b.files, b.pairs = make([]*predictions.Reader, len(b.runs)), make([]pairing, len(b.runs))
	for k := range b.runs {
		var err error
		if b.files[k], err = predictions.Open(b.path(k)); err != nil {
			b.fail(k, err)
		}
	}
	first := b.files[0]
	if first != nil {
		b.targets = first.Targets
	}
	for k, f := range b.files[1:] {
		switch other := b.runs[k+1].folder; {
		case f == nil || first == nil:
		case !slices.Equal(f.Targets, first.Targets):
			b.fail(k+1, fmt.Errorf("%s/predictions.csv: targets %q differ from %[4]q of %[3]s", other, f.Targets,
				b.runs[0].folder, first.Targets))
		case f.Truth != first.Truth:
			b.fail(k+1, fmt.Errorf("%s/predictions.csv: only one of it and %s has true values", other, b.runs[0].folder))
		default:
			b.pairs[k+1].errors = make([]compare.Paired, len(first.Targets))
		}
	}
}

func (b *rowComparison) path(k int) string { return filepath.Join(b.runs[k].folder, "predictions.csv") }

// fail records an error of a file and stops reading it.
func (b *rowComparison) fail(k int, err error) {
	b.wrong.add("%s", err)
	if b.files[k] != nil {
		b.files[k].Close()
		b.files[k] = nil
	}
}

// read reads all rows of all files.
func (b *rowComparison) read(ctx context.Context) error {
	rows := make([]*predictions.Record, len(b.runs))
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctxerr.Check(ctx)
		}
		open := 0
		for k := range b.files {
			if rows[k] = b.next(k, n); rows[k] != nil {
				open++
			}
		}
		if open == 0 {
			return nil
		}
		b.add(rows)
	}
}

// next reads row n of a file; nil if the file has ended or is damaged.
func (b *rowComparison) next(k, n int) *predictions.Record {
	if b.files[k] == nil {
		return nil
	}
	row, err := b.files[k].Next()
	switch all := b.runs[k].Rows.Test; {
	case err == nil && n == all:
		b.fail(k, b.files[k].Errorf("there are more rows than the %d of result.json", all))
	case err == nil:
		return &row
	case err != io.EOF:
		b.fail(k, err)
	case n != all:
		b.fail(k, fmt.Errorf("%s must have the %[3]d rows of result.json, got %[2]d", b.path(k), n, all))
	default:
		b.files[k].Close()
		b.files[k] = nil
	}
	return nil
}

// add adds a row of each run to the paired statistics.
func (b *rowComparison) add(rows []*predictions.Record) {
	first := rows[0]
	if first == nil {
		return
	}
	known := len(first.Truth) > 0 && !slices.Contains(first.Truth, "")
	if known {
		b.paired++
	}
	for k := 1; k < len(rows); k++ {
		if rows[k] == nil {
			continue
		}
		if err := b.other(k, first, rows[k]); err != nil {
			b.fail(k, err)
			continue
		}
		if !known {
			continue
		}
		if b.costs.table != nil {
			if err := b.mistakes(k, first, rows[k]); err != nil {
				b.fail(k, err)
			}
		} else if b.classes {
			b.pairs[k].classes(first, rows[k])
		} else if err := b.numbers(k, first, rows[k]); err != nil {
			b.fail(k, err)
		}
	}
}

// other returns an error if two rows differ, else nil.
func (b *rowComparison) other(k int, first, row *predictions.Record) error {
	switch at := b.files[k]; {
	case row.Row != first.Row:
		seeds := ""
		if then, now := b.runs[0].spec.Seed, b.runs[k].spec.Seed; then != now {
			seeds = fmt.Sprintf("; the seeds are %d and %d", now, then)
		}
		return at.Errorf("other test rows: this is row %d, that of %s is row %d%s", row.Row, b.runs[0].folder, first.Row,
			seeds)
	case !slices.Equal(row.Truth, first.Truth):
		return at.Errorf("true values differ: row %d has %s, in %s it has %s", row.Row, list(row.Truth), b.runs[0].folder,
			list(first.Truth))
	}
	return nil
}

// classes adds a row of classes.
func (p *pairing) classes(first, row *predictions.Record) {
	switch then, now := first.Said[0] == first.Truth[0], row.Said[0] == row.Truth[0]; {
	case then && !now:
		p.onlyFirst++
	case now && !then:
		p.only++
	}
}

// mistakes adds the costs of a row of classes.
func (b *rowComparison) mistakes(k int, first, row *predictions.Record) error {
	then, ok := b.costs.of(first.Truth[0], first.Said[0])
	now, known := b.costs.of(row.Truth[0], row.Said[0])
	if !ok || !known {
		return b.files[k].Errorf("row %d: the costs are of other classes than %q, %q and %q", row.Row, row.Truth[0],
			first.Said[0], row.Said[0])
	}
	b.pairs[k].errors[0].Add(math.Sqrt(then), math.Sqrt(now)) // the costs take the place of squared errors
	return nil
}

// numbers adds a row of numbers.
func (b *rowComparison) numbers(k int, first, row *predictions.Record) error {
	for t, text := range row.Truth {
		truth, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return b.files[k].Errorf("the truth %q is no number", text)
		}
		then, err := strconv.ParseFloat(first.Said[t], 64)
		if err != nil {
			return fmt.Errorf("%s: the prediction of row %[3]d must be a number, got %[2]q", b.path(0), first.Said[t], first.Row)
		}
		now, err := strconv.ParseFloat(row.Said[t], 64)
		if err != nil {
			return b.files[k].Errorf("the prediction %q is no number", row.Said[t])
		}
		then, now = then-truth, now-truth
		if b.loss != nil {
			for _, e := range []*float64{&then, &now} {
				loss, err := b.loss.Func(metrics.Input{YTrue: []float64{truth}, YPred: []float64{truth + *e}})
				if err != nil {
					return b.files[k].Errorf("row %d: %v", row.Row, err)
				}
				*e = math.Sqrt(loss) // the losses take the place of squared errors
			}
		}
		b.pairs[k].errors[t].Add(then, now)
	}
	return nil
}

// rowLoss returns the regression metric of a name if it is a mean of losses of rows, other than the
// squared error; else nil.
func rowLoss(score string) *metrics.Metric {
	m, err := metrics.ByName(score)
	if err != nil || m.GreaterIsBetter || m.Requires != metrics.RequiresPredictions || m.Task != datasets.Regression ||
		m.Name == "mean_squared_error" || !strings.HasPrefix(m.Name, "mean_") && !strings.HasPrefix(m.Name, "pinball_") {
		return nil
	}
	return &m
}

// list formats the true values of a row.
func list(values []string) string {
	if len(values) == 1 {
		return strconv.Quote(values[0])
	}
	return fmt.Sprintf("%q", values)
}

// test computes the tests from the rows read.
func (b *rowComparison) test(c *result.Comparison) error {
	for k := 1; k < len(b.runs); k++ {
		p := b.pairs[k]
		if b.classes && b.costs.table == nil {
			t, err := compare.McNemar(p.onlyFirst, p.only, b.paired)
			if err != nil {
				return fmt.Errorf("experiment: %w", err)
			}
			c.OnTestRows = append(c.OnTestRows, result.TestResult{Run: k, Score: "accuracy", GreaterIsBetter: true,
				Pairs: b.paired, Test: t, OnlyFirst: p.onlyFirst, Only: p.only})
			continue
		}
		for at, target := range b.targets {
			t, err := p.errors[at].Test()
			if err != nil {
				return fmt.Errorf("experiment: %s and %s: %w", b.runs[0].folder, b.runs[k].folder, err)
			}
			score := "squared_error"
			switch {
			case b.costs.table != nil:
				score, target = "cost", ""
			case b.loss != nil:
				score = b.loss.Name
			}
			c.OnTestRows = append(c.OnTestRows, result.TestResult{Run: k, Score: score, Target: target,
				Pairs: p.errors[at].Rows(), Test: t})
		}
	}
	return nil
}

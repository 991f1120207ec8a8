package scaffold

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// table returns the description of the remaining columns, the columns with missing values, and the approximate number
// of inputs of the map (their total variance).
func (d *draft) table() (t preprocessing.Table, incomplete []string, variance float64) {
	t = preprocessing.Table{Rows: d.goal.rows, Sparse: d.sparse}
	for _, c := range d.inputs {
		missing := c.missing
		for _, word := range c.words {
			missing += c.strs[word].count
		}
		switch c.use {
		case textual:
			t.Text++
			variance++
			continue
		case categorical:
			if c.format.Name { // its strings are text too
				t.Text++
				variance++
			}
			t.Categorical++
			variance += spreadOf(c.tally)
			continue
		case numeric:
			t.Numeric++
			variance++
		case dates:
			t.Numeric += len(c.date.Parts)
			variance += float64(len(c.date.Parts))
		case dropped, grouping:
			continue
		}
		if missing > 0 {
			incomplete = append(incomplete, fmt.Sprintf("%s (%d)", printable(c.name), missing))
		}
	}
	if d.sparse {
		variance = d.survey.variance()
	}
	t.Missing = len(incomplete) > 0
	return t, incomplete, max(variance, 1e-9)
}

// spreadOf is the variance of the 0/1 columns of all categories together.
func spreadOf(t distinctCounter) float64 {
	rows, squares := 0.0, 0.0
	for _, seen := range t.counts {
		rows += float64(seen.count)
		squares += float64(seen.count) * float64(seen.count)
	}
	if rows == 0 {
		return 0
	}
	return 1 - squares/(rows*rows)
}

// pipelineSection writes the pipeline that [preprocessing.Machine] proposes.
func (d *draft) pipelineSection() {
	t, incomplete, _ := d.table()
	if n := len(incomplete); n > 0 {
		more := ""
		if n > 8 {
			more = fmt.Sprintf(" and %d more", n-8)
		}
		d.line("# Missing values in %s%s.", strings.Join(incomplete[:min(n, 8)], ", "), more)
	}
	d.line("pipeline:")
	machine := preprocessing.Machine(t, d.goal.classes != nil)
	for _, s := range machine.Steps {
		columns, ok := s.Fitter.(pipeline.Columns)
		if own, _ := pipeline.Lookup(s.Fitter); own.Name == "rff" {
			if d.task != datasets.Clustering {
				d.line("  - rff: {features: %d}", d.features())
			}
			continue
		} else if !ok {
			d.line("  - %s", flow(s.Fitter, false))
			continue
		}
		d.line("  - columns:")
		for _, g := range columns.Groups {
			var steps []string
			for _, s := range g.Steps {
				steps = append(steps, flow(s.Fitter, true))
			}
			d.line("      - {select: %s, steps: [%s]} # %d columns", g.Select[0], strings.Join(steps, ", "),
				map[string]int{"numeric": t.Numeric, "categorical": t.Categorical, "text": t.Text}[g.Select[0]])
		}
	}
	switch score, _ := d.score(); {
	case d.task == datasets.Anomaly:
		d.line("  - one_class: {nu: 0.05} # about the share of the rows that are taken for anomalies")
	case d.task == datasets.Clustering:
		clusters := 3
		if len(d.goal.classes) > 1 {
			clusters = len(d.goal.classes)
		}
		d.line("  - kmeans: {clusters: %d}", min(clusters, d.rows))
	case d.goal.classes != nil && metricinput.IsClassBalanced(score):
		d.line("  - logistic: {class_weight: balanced}")
	default:
		d.line("  - %s", flow(machine.Estimator, false))
	}
}

// flow writes a step with the parameters that differ from their defaults.
func flow(spec any, within bool) string {
	own, _ := pipeline.Lookup(spec)
	var settings []string
	defaults := param.All(own.New())
	for i, p := range param.All(spec) {
		if !reflect.DeepEqual(p.Value, defaults[i].Value) {
			settings = append(settings, p.Path+": "+config.Flow(p.Value))
		}
	}
	switch {
	case len(settings) == 0:
		return own.Name
	case within:
		return fmt.Sprintf("{%s: {%s}}", own.Name, strings.Join(settings, ", "))
	}
	return fmt.Sprintf("%s: {%s}", own.Name, strings.Join(settings, ", "))
}

// features returns the number of random features, with which the search takes a minute or so for 50,000 rows of 20
// inputs.
func (d *draft) features() int {
	switch {
	case d.goal.rows < 1250 || d.task.Unsupervised():
		return 500
	case d.goal.classes == nil:
		return 2000
	}
	return 1000
}

// score returns the metric of the search, as package auto chooses it, and the number of folds.
func (d *draft) score() (score string, folds int) {
	folds = 5
	if d.goal.labels {
		return "f1_micro", folds
	}
	if d.goal.classes == nil {
		return "r2", folds
	}
	counts := make([]int, len(d.goal.classes))
	for i, c := range d.goal.classes {
		counts[i] = c.count
	}
	return metricinput.DefaultMetric(datasets.Classification, counts), max(min(folds, d.goal.smallest()*4/5), 2)
}

// searchSection writes the search.
func (d *draft) searchSection() {
	known := len(d.goal.classes) > 1
	clusters := slices.DeleteFunc([]any{2, 3, 4, 5, 6, 8, 10}, func(k any) bool { return 5*k.(int) > d.rows })
	switch {
	case len(d.goal.classes) == 1 && !d.goal.labels && !d.task.Unsupervised():
		return
	case d.task == datasets.Anomaly && !known:
		d.line("# No search: without a target, settings cannot be compared.")
		return
	case d.goal.rows < 20 || d.task == datasets.Clustering && len(clusters) < 2:
		d.line("# No search: %d rows are too few to choose parameters by.", d.goal.rows)
		return
	}
	d.line("search: # leave this section out to fit the pipeline as it is")
	d.line("  grid: # axes: {log: [from, to, points]} or a list of values")
	t, _, variance := d.table()
	score, folds := d.score()
	switch {
	case d.task == datasets.Clustering:
		d.line("    kmeans.clusters: %s", config.Flow(clusters))
		if score, folds = "silhouette", 5; known {
			score = "adjusted_rand # agreement with the target"
		}
	case d.task == datasets.Anomaly:
		d.line("    one_class.nu: [0.01, 0.05, 0.2]")
		score = "roc_auc"
	case d.goal.classes != nil:
		d.line("    logistic.C: {log: [0.01, 1000, 6]}")
	default:
		d.line("    ridge.alpha: {log: [1.0e-6, 100, 9]}")
	}
	mapped := t.Text == 0 && !d.task.Unsupervised()
	if mapped {
		// The gaussian kernel takes squared distances, the exponential one distances: one axis for both.
		d.line("    rff.kernel: [gaussian, exponential]")
		d.line("    rff.gamma: {log: [%s, %s, 8]}", round(0.003/variance), round(max(10/variance, 3/math.Sqrt(variance))))
	}
	d.line("  folds: %d", folds)
	switch {
	case d.time != "":
		d.line("  cv: {kind: time} # the test rows of a fold come after its training rows")
	case known && d.group == "" && !d.task.Unsupervised() && d.goal.smallest() < 3:
		d.line("  cv: {kind: kfold} # a class has too few rows to be in every fold")
	}
	d.line("  score: %s", score)
	if mapped && d.goal.rows >= 1250 {
		d.line("  halving: {resource: rff.features, min_resources: %d, factor: 8} # all candidates with fewer features, "+
			"the best eighth with all", d.features()/4)
	}
}

// round writes a number with one digit.
func round(v float64) string {
	text := fmt.Sprintf("%.1g", v)
	if strings.Contains(text, "e") {
		return yamlnode.Pointed(text)
	}
	return text
}

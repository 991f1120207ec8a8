package scaffold

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/codec/yamlnode"
	"github.com/bochner-ml/bochner/internal/experiment/config"
	"github.com/bochner-ml/bochner/internal/learning/metricinput"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/param"
	"github.com/bochner-ml/bochner/pipeline"
)

// counted contains the remaining columns by kind, their missing values, and the approximate number
// of inputs of the map (their total variance).
type counted struct {
	numeric, categorical, text int

	names int // further columns of text, whose strings are categories too

	incomplete []string
	variance   float64
}

func (d *draft) counted() counted {
	var n counted
	for _, c := range d.inputs {
		missing := c.missing
		for _, word := range c.words {
			missing += c.strs[word].count
		}
		switch c.use {
		case texts:
			n.text++
			n.variance++
			continue
		case categorical:
			if c.format.Name {
				n.names++
				n.variance++
			}
			n.categorical++
			n.variance += spreadOf(c.tally)
			continue
		case numeric:
			n.numeric++
			n.variance++
		case dates:
			n.numeric += len(c.date.Parts)
			n.variance += float64(len(c.date.Parts))
		case dropped, grouping:
			continue
		}
		if missing > 0 {
			n.incomplete = append(n.incomplete, fmt.Sprintf("%s (%d)", printable(c.name), missing))
		}
	}
	if d.sparse {
		n.variance = d.survey.variance()
	}
	n.variance = max(n.variance, 1e-9)
	return n
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

func (d *draft) pipelineSection() {
	n := d.counted()
	if len(n.incomplete) > 0 {
		more := ""
		if len(n.incomplete) > 8 {
			more = fmt.Sprintf(" and %d more", len(n.incomplete)-8)
		}
		d.line("# Missing values in %s%s.", strings.Join(n.incomplete[:min(len(n.incomplete), 8)], ", "), more)
	}
	d.line("pipeline:")
	table := preprocessing.Table{Rows: d.goal.rows, Numeric: n.numeric, Categorical: n.categorical, Text: n.text + n.names,
		Missing: len(n.incomplete) > 0, Sparse: d.sparse}
	for _, s := range preprocessing.Steps(table) {
		columns, ok := s.Fitter.(pipeline.Columns)
		if !ok {
			d.line("  - %s", flow(s, false))
			continue
		}
		d.line("  - columns:")
		for _, g := range columns.Groups {
			var steps []string
			for _, s := range g.Steps {
				steps = append(steps, flow(s, true))
			}
			d.line("      - {select: %s, steps: [%s]} # %d columns", g.Select[0], strings.Join(steps, ", "),
				map[string]int{"numeric": n.numeric, "categorical": n.categorical, "text": n.text + n.names}[g.Select[0]])
		}
	}
	if d.task.Unsupervised() {
		d.untaught()
		return
	}
	p := d.propose(n)
	if n.text > 0 {
		d.line("  # Rows of many terms are close to linear. Before the model, nystroem: {gamma: 0.5} would add a kernel.")
	} else {
		d.line("  - rff: {kernel: gaussian, gamma: scale, features: %d}", p.features)
	}
	switch {
	case d.goal.isCount():
		d.line("  - poisson: {alpha: 0.001} # the target counts: integers from 0 on, many of them small")
	case d.goal.classes == nil:
		if d.goal.hasLongTail() {
			d.line("  # The target is positive with a long tail: also try gamma_regression: {alpha: 0.001}, or target:")
			d.line("  # {transform: log, estimator: ridge}, with score: mean_gamma_deviance or mean_absolute_error.")
		}
		d.line("  - ridge: {alpha: 1.0}")
	default:
		d.line("  - logistic: {C: 1.0%s}", p.balance)
	}
}

// flow writes a step with the parameters that differ from their defaults.
func flow(s pipeline.Step, within bool) string {
	own, _ := pipeline.Lookup(s.Fitter)
	var settings []string
	defaults := param.All(own.New())
	for i, p := range param.All(s.Fitter) {
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

// proposal is a search that suits the data and takes a minute or so for 50,000 rows of 20 inputs.
type proposal struct {
	features int
	gamma    [2]float64
	points   int
	penalty  string // an axis
	folds    int
	cv       string
	halving  string
	score    string
	balance  string
}

func (d *draft) propose(n counted) proposal {
	p := proposal{features: 500, points: 8, folds: 5}
	rows := d.goal.rows * 4 / 5
	switch {
	case rows >= 1000 && d.goal.classes == nil:
		p.features = 2000
	case rows >= 1000:
		p.features = 1000
	}
	// The gaussian kernel takes squared distances, the exponential one distances: one axis for both.
	p.gamma = [2]float64{0.003 / n.variance, max(10/n.variance, 3/math.Sqrt(n.variance))}
	p.penalty = "ridge.alpha: {log: [1.0e-6, 100, 9]}"
	p.score = "r2"
	if d.goal.classes != nil {
		p.penalty = "logistic.C: {log: [0.01, 1.0e+4, 7]}"
		d.scoreClasses(&p)
	}
	switch {
	case rows >= 1000 && d.goal.classes != nil:
		p.penalty = "logistic.C: {log: [0.01, 1000, 6]}"
	case rows < 1000 && d.goal.classes == nil: // small numeric data is often simulated, without noise
		p.penalty = "ridge.alpha: {log: [1.0e-8, 100, 11]}"
	}
	if d.time != "" {
		p.cv = "{kind: time} # the test rows of a fold come after its training rows"
	}
	if d.goal.isCount() {
		p.features = min(p.features, 1000)
		p.penalty, p.score = "poisson.alpha: {log: [1.0e-6, 0.1, 6]}", "mean_poisson_deviance"
	}
	if rows >= 20_000 && d.goal.classes != nil {
		p.points, p.penalty = 6, "logistic.C: {log: [0.1, 1000, 5]}"
	}
	if rows >= 20_000 {
		p.folds = min(p.folds, 3)
	}
	switch {
	case rows >= 60_000:
		p.halving = "{resource: rows, min_resources: 10000, factor: 8} # the best eighth of the candidates sees more rows"
	case rows >= 1000:
		p.halving = fmt.Sprintf("{resource: rff.features, min_resources: %d, factor: 8} # all candidates with fewer "+
			"features, the best eighth with all", p.features/4)
	}
	return p
}

// scoreClasses chooses by the shares of the classes.
func (d *draft) scoreClasses(p *proposal) {
	counts := make([]int, len(d.goal.classes))
	for i, c := range d.goal.classes {
		counts[i] = c.count
	}
	share := float64(d.goal.largest()) / float64(max(d.goal.rows, 1))
	if d.goal.labels {
		p.score = "f1_micro"
		return
	}
	switch p.score = metricinput.DefaultMetric(datasets.Classification, counts); {
	case p.score == "roc_auc":
		p.score = fmt.Sprintf("roc_auc # the larger class has %.1f %% of the rows, so accuracy is uninformative", 100*share)
	case p.score == "balanced_accuracy":
		p.score = "balanced_accuracy # the classes are far from equal: the mean of their recalls counts each the same"
		p.balance = ", class_weight: balanced"
	case d.goal.rows < 1250:
		p.score = "log_loss # with so few rows accuracy takes steps too coarse to choose by"
	}
	rarest := d.goal.smallest() * 4 / 5
	if rarest < p.folds && d.group == "" {
		if p.folds = max(rarest, 2); rarest < 2 {
			p.folds, p.cv = 3, "{kind: kfold} # a class has too few rows to be in every fold"
		}
	}
}

// clusters returns the number of clusters: that of the target classes, or values to try.
func (d *draft) clusters() (first int, grid []int) {
	first, grid = 3, []int{2, 3, 4, 5, 6, 8, 10}
	if k := len(d.goal.classes); k > 1 && k <= 50 {
		first = k
		if !slices.Contains(grid, k) {
			grid = append(grid, k)
			slices.Sort(grid)
		}
	}
	return first, slices.DeleteFunc(grid, func(k int) bool { return 5*k > d.rows })
}

// untaught writes the model of a task without a target.
func (d *draft) untaught() {
	if d.task == datasets.Anomaly {
		d.line("  - rff: {kernel: gaussian, gamma: scale, features: 500}")
		d.line("  - one_class: {nu: 0.05} # about the share of the rows that are taken for anomalies")
		return
	}
	first, _ := d.clusters()
	d.line("  # Groups that are not round: binning: {gamma: 1.0, grids: 100}, and then spectral instead of kmeans.")
	d.line("  - kmeans: {clusters: %d}", min(first, d.rows))
}

// untaughtSearch writes the search of a task without a target.
func (d *draft) untaughtSearch() {
	known := len(d.goal.classes) > 1
	_, grid := d.clusters()
	switch {
	case d.task == datasets.Anomaly && !known:
		d.line("# No search: without a target, settings cannot be compared.")
		return
	case d.rows < 20 || d.task == datasets.Clustering && len(grid) < 2:
		d.line("# No search: %d rows are too few to choose parameters by.", d.rows)
		return
	}
	d.line("search: # leave this section out to fit the pipeline as it is")
	d.line("  grid: # axes: {log: [from, to, points]} or a list of values")
	if d.task == datasets.Anomaly {
		p := d.propose(d.counted())
		d.line("    rff.gamma: {log: [%s, %s, %d]}", round(p.gamma[0]), round(p.gamma[1]), p.points)
		d.line("    one_class.nu: [0.01, 0.05, 0.2]")
		d.line("  cv: {folds: %d} # anomalies in every fold", min(5, max(d.goal.smallest(), 2)))
		d.line("  score: roc_auc")
		return
	}
	d.line("    kmeans.clusters: %s", config.Flow(plain(grid)))
	d.line("  folds: 5")
	if known {
		d.line("  score: adjusted_rand # agreement with the target; silhouette does without it")
	} else {
		d.line("  score: silhouette # of the numeric columns, standardised")
	}
}

// plain returns integers as plain values.
func plain(list []int) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

func (d *draft) searchSection() {
	if d.task.Unsupervised() {
		d.untaughtSearch()
		return
	}
	switch {
	case len(d.goal.classes) == 1 && !d.goal.labels:
		return
	case d.goal.rows < 20:
		d.line("# No search: %d rows are too few to choose parameters by.", d.goal.rows)
		return
	}
	n := d.counted()
	p := d.propose(n)
	d.line("search: # leave this section out to fit the pipeline as it is")
	d.line("  grid: # axes: {log: [from, to, points]} or a list of values")
	if n.text > 0 {
		p.halving = ""
		if d.goal.classes != nil { // larger ones take long and seldom help, with more terms than rows
			p.penalty = "logistic.C: {log: [0.1, 100, 4]}"
		}
		d.line("    %s", p.penalty)
	} else {
		d.line("    rff.kernel: [gaussian, exponential]")
		d.line("    %s", p.penalty) // before γ: of equal scores the first candidate counts, and a larger penalty is simpler
		d.line("    rff.gamma: {log: [%s, %s, %d]}", round(p.gamma[0]), round(p.gamma[1]), p.points)
	}
	d.line("  folds: %d", p.folds)
	if p.cv != "" {
		d.line("  cv: %s", p.cv)
	}
	d.line("  score: %s", p.score)
	if p.halving != "" {
		d.line("  halving: %s", p.halving)
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

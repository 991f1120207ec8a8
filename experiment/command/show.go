package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/rows/profile"
)

// showResult prints the result of a run.
func showResult(out io.Writer, r result.Result) {
	showSimpler(out, r)
	printf(out, "%s: %s, %d training rows, %d test rows, %d inputs\n", r.Name, r.Task, r.Rows.Train, r.Rows.Test,
		r.Features)
	if b := r.Before; b.Model != "" {
		printf(out, "continued from %s, %d training rows in total\n", b.Model, b.Rows)
	}
	if s := r.Search; s != nil {
		candidates, with := fmt.Sprintf("%d candidates", s.Candidates), " with"
		switch {
		case len(s.Best.Params) == 0:
			candidates, with = "fixed pipeline", ""
		case s.Candidates == 1:
			candidates = "1 candidate"
		}
		if from := s.Started; from.Run != "" {
			candidates = fmt.Sprintf("started from %s: %d of %.0f candidates", from.Run, s.Candidates, from.GridSize)
		}
		if rounds := len(s.Rounds); rounds > 0 {
			candidates += fmt.Sprintf(" in %d rounds, the last of %d", rounds, s.Rounds[rounds-1].Candidates)
		}
		printf(out, "\n%s × %d folds: %s %s ± %s%s\n", candidates, s.Folds, s.Score, formatScore(s.Best.Mean),
			formatScore(s.Best.Std), with)
		t := columns(out)
		for _, path := range slices.Sorted(maps.Keys(s.Best.Params)) {
			printf(t, "  %s\t%s\n", path, fmt.Sprint(s.Best.Params[path]))
		}
		t.Flush()
	}
	fmt.Fprintln(out)
	if len(r.Train)+len(r.Test) > 0 {
		showScores(out, r.Train, r.Test, r.Baselines...)
	}
	if r.Rows.Judged > 0 {
		printf(out, "training scores: %d evenly spaced rows\n", r.Rows.Judged)
	}
	showPositive(out, r.Positive)
	showFindings(out, r.Task, r.Findings)
	showTestDrift(out, r)
	if r.Intervals != nil {
		fmt.Fprintln(out)
		showUncertainty(out, *r.Intervals)
	}
	showThreshold(out, r)
	showFound(out, r)
	if len(r.Members) > 0 {
		fmt.Fprintln(out)
		showMembers(out, r.Members)
	}
	for i, w := range r.Warnings {
		if i == 0 {
			fmt.Fprintln(out)
		}
		printf(out, "warning: %s\n", w)
	}
	printf(out, "\n%.1f s, of which load %.1f, search %.1f, refit %.1f, evaluate %.1f, report %.1f", r.Seconds.Total,
		r.Seconds.Load, r.Seconds.Search, r.Seconds.Refit, r.Seconds.Evaluate, r.Seconds.Report)
	if r.Memory > 0 {
		printf(out, "; peak memory %s", bytesText(r.Memory))
	}
	showFiles(out, r)
}

// showSimpler prints that a simple model is better.
func showSimpler(out io.Writer, r result.Result) {
	if r.Simpler != "" {
		printf(out, "note: %s\n", r.Simpler)
	}
}

// showFiles prints the written files and the tracking address of the run.
func showFiles(out io.Writer, r result.Result) {
	printf(out, "\nwritten: %s\n", strings.Join(r.Files, " "))
}

// showFound prints the sizes of clusters and the shares of anomalies.
func showFound(out io.Writer, r result.Result) {
	if c := r.Clusters; c.Train != nil {
		fmt.Fprintln(out)
		t := columns(out)
		fmt.Fprint(t, "cluster\ttrain")
		if c.Test != nil {
			fmt.Fprint(t, "\ttest")
		}
		fmt.Fprintln(t)
		for k := range max(len(c.Train), len(c.Test)) {
			printf(t, "%d", k)
			for _, sizes := range [][]int{c.Train, c.Test} {
				if k < len(sizes) {
					printf(t, "\t%d", sizes[k])
				} else if sizes != nil {
					fmt.Fprint(t, "\t0")
				}
			}
			fmt.Fprintln(t)
		}
		t.Flush()
	}
	if a := r.Anomalies; a.Train != nil {
		printf(out, "anomalies: %.2f %% of the training rows", 100**a.Train)
		if a.Test != nil {
			printf(out, ", %.2f %% of the test rows", 100**a.Test)
		}
		fmt.Fprintln(out)
	}
}

// showMembers prints how much each member of an ensemble counts.
func showMembers(out io.Writer, members []result.MemberWeight) {
	t := columns(out)
	fmt.Fprintln(t, "member\tweight")
	for _, m := range members {
		printf(t, "%s\t%s\n", m.Name, formatScore(m.Weight))
	}
	t.Flush()
}

// showScores prints a row for each metric, with the scored parts of the rows and simple models.
func showScores(out io.Writer, train, test map[string]float64, simple ...result.Baseline) {
	t := columns(out)
	fmt.Fprint(t, "score")
	all := map[string]float64{}
	var parts []map[string]float64
	type part struct {
		name   string
		scores map[string]float64
	}
	list := []part{{"train", train}, {"test", test}}
	for _, b := range simple {
		list = append(list, part{b.Name, b.Scores})
	}
	for _, part := range list {
		if len(part.scores) > 0 {
			printf(t, "\t%s", part.name)
			maps.Copy(all, part.scores)
			parts = append(parts, part.scores)
		}
	}
	fmt.Fprintln(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		printf(t, "%s", name)
		for _, scores := range parts {
			if v, ok := scores[name]; ok {
				printf(t, "\t%s", formatScore(v))
			} else {
				fmt.Fprint(t, "\t–")
			}
		}
		fmt.Fprintln(t)
	}
	t.Flush()
}

// showFindings prints confusions or errors, and important inputs.
func showFindings(out io.Writer, task string, f result.Findings) {
	on := ""
	if f.On == "train" {
		on = " (training rows)"
	}
	if len(f.PerClass) > 0 {
		fmt.Fprintln(out)
		showClasses(out, task, f, on)
	}
	if len(f.Errors) > 0 {
		fmt.Fprintln(out)
		t := columns(out)
		fmt.Fprint(t, "absolute error"+on)
		for _, q := range f.Errors[0].Quantiles {
			printf(t, "\t%g %%", 100*q.Share)
		}
		fmt.Fprintln(t)
		for _, e := range f.Errors {
			printf(t, "%s", e.Target)
			for _, q := range e.Quantiles {
				printf(t, "\t%s", formatScore(q.Error))
			}
			fmt.Fprintln(t)
		}
		t.Flush()
	}
	if i := f.Importance; i != nil && len(i.Inputs) > 0 && i.Inputs[0].Mean > 0 {
		const most = 5
		fmt.Fprintln(out)
		t := columns(out)
		printf(t, "input\tdecrease of %s\n", i.Metric)
		for _, in := range i.Inputs[:min(len(i.Inputs), most)] {
			printf(t, "%s\t%.2g ± %.1g\n", in.Name, in.Mean, in.StdError)
		}
		t.Flush()
		if more := len(i.Inputs) - most; more > 0 {
			printf(out, "and %d more\n", more)
		}
	}
}

// showClasses prints the confusion matrix and the scores of each class; with many classes, only the
// scores of the classes with the lowest ones.
func showClasses(out io.Writer, task string, f result.Findings, on string) {
	const matrix, most = 8, 10
	t := columns(out)
	one, many := "class", "classes"
	if task == "multilabel" {
		one, many = "label", "labels"
	}
	fmt.Fprint(t, one+on)
	counted := f.Confusion.Classes != nil && len(f.PerClass) <= matrix
	if counted {
		for _, c := range f.Confusion.Classes {
			printf(t, "\tas %s", c)
		}
	}
	fmt.Fprint(t, "\tprecision\trecall\tf1\trows")
	list := slices.Clone(f.PerClass)
	if list[0].Threshold != nil {
		fmt.Fprint(t, "\tthreshold")
	}
	fmt.Fprintln(t)
	if !counted {
		slices.SortStableFunc(list, func(a, b result.Class) int { return cmp.Compare(a.F1, b.F1) })
		list = list[:min(len(list), most)]
	}
	for k, c := range list {
		printf(t, "%s", c.Name)
		if counted {
			for _, n := range f.Confusion.Counts[k] {
				printf(t, "\t%.6g", n)
			}
		}
		printf(t, "\t%s\t%s\t%s\t%.6g", formatScore(c.Precision), formatScore(c.Recall), formatScore(c.F1), c.Support)
		if c.Threshold != nil {
			printf(t, "\t%s", formatScore(*c.Threshold))
		}
		fmt.Fprintln(t)
	}
	t.Flush()
	if more := len(f.PerClass) - len(list); more > 0 {
		printf(out, "and %d more %s with a higher F1\n", more, many)
	}
}

// showUncertainty prints the uncertainty output of a model and its coverage on test rows.
func showUncertainty(out io.Writer, s result.Uncertainty) {
	what := "intervals"
	if s.Size != nil {
		what = "sets"
	}
	printf(out, "%s: level %s by %s", what, formatScore(s.Level), s.Method)
	if s.Coverage != nil {
		printf(out, "; coverage %s", formatScore(*s.Coverage))
	}
	if s.Width != nil {
		printf(out, ", mean width %s", formatScore(*s.Width))
	}
	if s.Size != nil {
		printf(out, ", mean size %s", formatScore(*s.Size))
	}
	if len(s.Pooled) > 0 {
		printf(out, "; one calibration for the groups %s", levels(s.Pooled))
	}
	fmt.Fprintln(out)
}

// showThreshold prints the decision threshold, if there is one.
func showThreshold(out io.Writer, r result.Result) {
	if r.Threshold != nil {
		printf(out, "\nthreshold %s\n", cutoff(*r.Threshold))
	}
}

// cutoff describes the decision threshold and its score.
func cutoff(c meta.Cutoff) string {
	return fmt.Sprintf("%s by %s: %s out of fold, %s at %s", formatScore(c.Value), c.Score, formatScore(c.Best),
		formatScore(c.AtUsual), formatScore(c.Usual))
}

// showPositive names the positive class.
func showPositive(out io.Writer, class string) {
	if class != "" {
		printf(out, "positive class: %s\n", class)
	}
}

// showEvaluation prints a model's scores on rows.
func showEvaluation(out io.Writer, e experiment.Evaluation) {
	printf(out, "%s: %s, %d rows\n\n", e.Name, e.Task, e.Rows)
	t := columns(out)
	for _, name := range slices.Sorted(maps.Keys(e.Scores)) {
		printf(t, "%s\t%s\n", name, formatScore(e.Scores[name]))
	}
	t.Flush()
	showPositive(out, e.Positive)
	showFindings(out, e.Task, e.Findings)
	if e.Intervals != nil {
		showUncertainty(out, *e.Intervals)
	}
	for k, size := range e.Clusters {
		printf(out, "cluster %d: %d rows\n", k, size)
	}
	if e.Anomalies != nil {
		printf(out, "anomalies: %.2f %% of the rows\n", 100**e.Anomalies)
	}
	if e.Drift != nil {
		fmt.Fprintln(out)
		showDrift(out, *e.Drift)
	}
	for _, w := range e.Warnings {
		printf(out, "warning: %s\n", w)
	}
}

// showDrift prints the inputs whose distribution differs from that of the training rows.
func showDrift(out io.Writer, d profile.Drift) {
	const most = 20
	inputs := d.Drifted()
	if len(inputs) == 0 {
		fmt.Fprintln(out, "no data drift")
		return
	}
	printf(out, "data drift: %d of %d inputs differ from the training data\n", len(inputs), len(d.Inputs))
	t := columns(out)
	fmt.Fprintln(t, "input\tmissing\tin training\tunknown\toutside\tPSI")
	for _, i := range inputs[:min(most, len(inputs))] {
		unknown, outside := percent(i.Unknown), "–"
		if i.Kind != "categorical" {
			outside = percent(i.OutOfRange)
		}
		if i.Kind == "numeric" {
			unknown = "–"
		}
		printf(t, "%s\t%s\t%s\t%s\t%s\t%.2f\n", i.Name, percent(i.Missing), percent(i.MissingTraining), unknown, outside,
			i.PSI)
	}
	t.Flush()
	if more := len(inputs) - most; more > 0 {
		printf(out, "and %d more\n", more)
	}
}

// showTestDrift prints the inputs whose distribution in the test rows differs from that of the
// training rows.
func showTestDrift(out io.Writer, r result.Result) {
	if r.Drift != nil && len(r.Drift.Drifted()) > 0 {
		fmt.Fprintln(out, "\ntest rows:")
		showDrift(out, *r.Drift)
	}
}

// percent writes a share.
func percent(share float64) string {
	switch {
	case share > 0 && share < 0.001:
		return "< 0.1 %"
	case share > 0.999 && share < 1:
		return "> 99.9 %"
	case share == 0 || share == 1:
		return fmt.Sprintf("%.0f %%", 100*share)
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// planned returns the time of a plan, a range where the samples leave it open.
func planned(p experiment.Plan) string {
	low, high := duration(p.SecondsLow), duration(p.SecondsHigh)
	if low == high {
		return "about " + high
	}
	return low + " to " + high
}

// showPlan prints the estimated cost of a run.
func showPlan(out io.Writer, p experiment.Plan) {
	t := columns(out)
	printf(t, "rows\t%d training, %d test, %d inputs\n", p.Rows.Train, p.Rows.Test, p.Features)
	if p.Stream {
		fmt.Fprintln(t, "rows\tstreamed from the file")
	} else {
		fmt.Fprintln(t, "data\tread into memory")
	}
	if p.Folds > 0 {
		most := ""
		if p.AtMost {
			most = "at most "
		}
		printf(t, "candidates\t%s%d × %d folds, %d fits in all\n", most, p.Candidates, p.Folds, p.Fits)
	}
	if len(p.Shared) > 0 {
		printf(t, "shared\t%s\n", strings.Join(p.Shared, ", "))
	}
	if n := len(p.Samples); n > 0 {
		last := p.Samples[n-1]
		printf(t, "time\t%s without the report, extrapolated from %.2g s for %d rows\n", planned(p), last.Seconds,
			last.Rows)
		for _, why := range p.Unknown {
			printf(t, "unknown\t%s\n", why)
		}
	}
	printf(t, "memory\tabout %s", bytesText(p.Bytes))
	if p.Available > 0 {
		printf(t, " of %s available", bytesText(p.Available))
	}
	if p.Peak > 0 {
		printf(t, "; peak of the process about %s", bytesText(p.Peak))
	}
	fmt.Fprintln(t)
	t.Flush()
	fmt.Fprintln(out)
	t = columns(out)
	fmt.Fprintln(t, "step\twidth\tmemory")
	for _, s := range p.Steps {
		width := "known after fitting"
		switch {
		case s.Width >= 0 && s.Guess:
			width = fmt.Sprintf("about %d", s.Width)
		case s.Width >= 0:
			width = fmt.Sprint(s.Width)
		}
		printf(t, "%s\t%s\t%s\n", s.Name, width, bytesText(s.Bytes))
	}
	t.Flush()
	for _, w := range p.Warnings {
		printf(out, "warning: %s\n", w)
	}
}

// showModel prints the description of a model file.
func showModel(out io.Writer, m experiment.Model) {
	t := columns(out)
	printf(t, "name\t%s\n", m.Name)
	printf(t, "task\t%s\n", m.Task)
	if v := m.Versions; v.ScikitLearn != "" {
		printf(t, "created by\tscikit-learn %s\n", v.ScikitLearn)
	} else {
		printf(t, "created by\tbochner %s, %s\n", v.Bochner, v.Go)
	}
	if m.Precision != "float64" {
		printf(t, "precision\t%s\n", m.Precision)
	}
	if m.KeptRows > 0 {
		rows := "training rows"
		if m.SupportVectors {
			rows = "support vectors"
		}
		printf(t, "stores\t%d %s, %s\n", m.KeptRows, rows, bytesText(m.Bytes))
	}
	if m.FittedRows > 0 {
		printf(t, "fitted to\tall %d rows after its evaluation; the scores are those of a model of %d training rows\n",
			m.FittedRows, m.ScoredRows)
	}
	if len(m.Targets) > 0 {
		printf(t, "target\t%s\n", strings.Join(m.Targets, ", "))
	}
	if len(m.Classes) > 0 {
		printf(t, "classes\t%s\n", strings.Join(m.Classes, ", "))
	}
	if m.Positive != "" {
		printf(t, "positive\t%s\n", m.Positive)
	}
	if m.Threshold != nil {
		printf(t, "threshold\t%s\n", cutoff(*m.Threshold))
	}
	if m.Intervals != nil {
		printf(t, "intervals\tlevel %s by %s\n", formatScore(m.Intervals.Level), m.Intervals.Method)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Metrics)) {
		printf(t, "%s\t%s\n", name, formatScore(m.Metrics[name]))
	}
	t.Flush()
	fmt.Fprintln(out)
	showColumns(out, m)
	for _, r := range m.Relevance {
		fmt.Fprintln(out)
		showRelevance(out, r)
	}
	if len(m.Members) > 0 {
		fmt.Fprintln(out)
		showMembers(out, m.Members)
	}
	fmt.Fprintf(out, "\n%s", m.Spec)
}

// showColumns prints the columns of a model with what is known of their training values.
func showColumns(out io.Writer, m experiment.Model) {
	t := columns(out)
	if m.Profile != nil && len(m.Columns) > 0 {
		fmt.Fprintln(t, "column\tkind\tmissing\tvalues")
	} else {
		fmt.Fprintln(t, "column\tkind\tlevels")
	}
	for j, c := range m.Columns {
		if m.Profile == nil {
			printf(t, "%s\t%s\t%s\n", c.Name, c.Kind, levels(c.Levels))
			continue
		}
		missing, values := "", levels(c.Levels)
		if j < len(m.Profile.Columns) {
			p := m.Profile.Columns[j]
			if missing = percent(p.Missing); len(p.Quantiles) > 0 {
				values = fmt.Sprintf("%s to %s", formatScore(p.Min), formatScore(p.Max))
				if p.Kind == "text" {
					values += " characters"
				}
			}
		}
		printf(t, "%s\t%s\t%s\t%s\n", c.Name, c.Kind, missing, values)
	}
	t.Flush()
}

// showRelevance lists the inputs that matter most to a step.
func showRelevance(out io.Writer, r result.Relevance) {
	const most = 20
	t := columns(out)
	if r.Terms {
		printf(t, "term of %s\tshare of variance\n", r.Step)
	} else {
		printf(t, "input of %s\trelevance\n", r.Step)
	}
	for _, i := range r.Inputs[:min(most, len(r.Inputs))] {
		printf(t, "%s\t%.3f\n", i.Name, i.Relevance)
	}
	t.Flush()
	if more := len(r.Inputs) - most; more > 0 {
		printf(out, "and %d more\n", more)
	}
	if unused := r.Unused(); unused > 0 {
		printf(out, "%d of %d inputs have relevance 0\n", unused, len(r.Inputs))
	}
}

// levels lists the first few levels of a column.
func levels(names []string) string {
	const few = 6
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, … (%d)", strings.Join(names[:few], ", "), len(names))
}

// showDatasets lists the built-in data.
func showDatasets(out io.Writer, list []dataset) {
	t := columns(out)
	fmt.Fprintln(t, "dataset\ttrain\ttest\tinputs\ttask\ttarget\tabout")
	for _, d := range list {
		test := "–"
		if d.Test > 0 {
			test = fmt.Sprint(d.Test)
		}
		printf(t, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", d.Name, d.Train, test, d.Features, d.Task, d.Target, d.Title)
	}
	t.Flush()
}

// printf prints as [fmt.Fprintf] does, with the strings among args escaped: names from files must not add
// lines or cells.
func printf(out io.Writer, format string, args ...any) {
	shown := slices.Clone(args)
	for i, arg := range shown {
		if s, ok := arg.(string); ok {
			shown[i] = escapeInvisible(s)
		}
	}
	fmt.Fprintf(out, format, shown...)
}

func columns(out io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(out, 0, 0, 2, ' ', 0) }

// formatScore writes a score with the digits that matter to a reader.
func formatScore(v float64) string { return fmt.Sprintf("%.4g", v) }

// bytesText writes an amount of memory.
func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	v, k := float64(n)/unit, 0
	for v >= unit && k < 5 {
		v, k = v/unit, k+1
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGTPE"[k])
}

// duration writes seconds.
func duration(seconds float64) string {
	switch {
	case seconds < 1:
		return "at most 1 s"
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.1f h", seconds/3600)
}

package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/experiment/report"
	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/inspection"
)

type explainCommand struct {
	rowsFlags
	Out            string `short:"o" files:"" default:"-" help:"Output file, written atomically, by extension: .csv, .json, .html (page with plots) or .npz (arrays of shap.Explanation); - for CSV on standard output."`
	Method         string `enum:"auto,exact,sampling" default:"auto" help:"Method: ${enum}. auto is exact where the model allows it."`
	Background     int    `default:"100" placeholder:"N" help:"Number of background rows, evenly spaced."`
	BackgroundFile string `files:"" placeholder:"FILE" help:"Data file with background rows. Default: the training rows of the run in whose directory the model is."`
	Kmeans         bool   `help:"Select the background rows by k-means, with weights."`
}

func (explainCommand) Help() string {
	return `Shapley values divide the difference between a prediction and the mean prediction of background rows
among the inputs, the columns of the data file: base + sum of values = prediction. They explain
decision scores of classifiers (for logistic, the log-odds), predictions of other models.

The values are exact for linear models, random features, Nyström and exact kernels; others are
sampled, with standard errors. The background is a sample of the training rows.

Example: bochner explain runs/adult/model.bochner new.csv -o explained.html

Example: bochner explain runs/adult/model.bochner new.csv --background 20 --kmeans > values.csv

Example: bochner explain model.bochner new.csv --background-file train.csv -o values.npz`
}

func (c explainCommand) Run(s *session) error {
	if c.Background < 1 {
		return usageError{fmt.Errorf("--background must be at least 1, got %d", c.Background)}
	}
	options := c.options(s)
	options.Explain = &experiment.ExplainOptions{Method: inspection.Method(c.Method), Background: c.Background,
		BackgroundFile: c.BackgroundFile, KMeans: c.Kmeans}
	end := func() {}
	if c.Out != "-" {
		options.Progress, _, end = s.progress()
	}
	var found result.Explanation
	var err error
	if c.Out == "-" {
		found, err = experiment.Explain(s.ctx, c.Model, c.Rows[0], options)
	} else {
		found, err = options.ExplainFile(s.ctx, c.Model, c.Rows[0], c.Out)
	}
	end()
	switch {
	case err != nil:
		return err
	case c.Out != "-" && s.json:
		return s.print(map[string]any{"rows": len(found.Outputs[0].Values), "method": found.Method, "file": c.Out})
	case c.Out != "-":
		if !s.quiet {
			showExplanation(s.out, found)
		}
		s.printf("%s written\n", c.Out)
		return nil
	case s.json:
		return report.WriteExplanation(s.out, "json", found)
	}
	return report.WriteExplanation(s.out, "csv", found)
}

// showExplanation prints the inputs with the largest mean absolute values.
func showExplanation(out io.Writer, e result.Explanation) {
	const most = 10
	method := string(e.Method)
	if e.Reason != "" {
		method += ": " + e.Reason
	}
	printf(out, "%d rows, %d background rows (%s), %s\n\n", len(e.Outputs[0].Values), e.ShapleyValues.Background,
		e.BackgroundFrom, method)
	for _, o := range e.Outputs {
		if o.Threshold != nil {
			printf(out, "classified as %s above the threshold %s\n", o.Name, formatScore(*o.Threshold))
		}
		name := strings.TrimSpace(e.Output + " " + o.Name)
		t, mean := columns(out), o.MeanAbs()
		printf(t, "input\tmean |change of %s|\n", name)
		top := o.Top()
		for _, j := range top[:min(len(top), most)] {
			printf(t, "%s\t%s\n", e.Inputs[j], formatScore(mean[j]))
		}
		t.Flush()
		if more := len(top) - most; more > 0 {
			printf(out, "and %d more\n", more)
		}
		fmt.Fprintln(out)
	}
}

package experiment

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/experiment/internal/diagnostics"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// fitted is the model of a run.
type fitted struct {
	model  estimator.Predictor
	search *gridsearch.Result // nil for none
	score  string             // metric that the model was chosen by, "" for none
	judged []int              // training rows to score the model on, nil for all
}

// scores returns the metrics that the model and its threshold were chosen by, if any, and those of its
// loss.
func (f fitted) scores() (names []string) {
	if f.score != "" {
		names = []string{f.score}
	}
	if t := thresholdOf(f.model); t != nil && t.Score != "cost" { // costs come with the predictions
		names = append(names, t.Score)
	}
	return append(names, lossMetrics(f.model)...)
}

// fit searches, if the experiment has a search, and fits the model to all training rows.
func fit(ctx context.Context, data *loaded, o Options, out *outputs) (f fitted, err error) {
	if data.spec.Search != nil {
		f, err = search(ctx, data, o, out)
	} else {
		f.model, err = refit(ctx, data, o, out)
	}
	if err == nil {
		out.warn(diagnostics.FitWarnings(f.model)...)
	}
	return f, err
}

// refit fits the pipeline of the experiment to all training rows, or continues the model before with them.
func refit(ctx context.Context, data *loaded, o Options, out *outputs) (model estimator.Predictor, err error) {
	began := time.Now()
	o.Progress.report("refit", 0, 0)
	p := finalPipeline(data.spec, data.spec.Pipeline, data.shape, data.Streamed)
	switch {
	case data.before != nil:
		if model, err = data.spec.Pipeline.PartialFit(ctx, data.before.Predictor, data.Train); err != nil {
			return nil, err
		}
		out.result.Before.Rows = estimator.FittedTags(model).RowsLearned
	case data.Streamed:
		model, err = p.FitSource(ctx, data.Train)
	default:
		var set datasets.Set
		if set, err = datasets.ReadAll(ctx, data.Train); err == nil {
			model, err = p.Fit(ctx, set)
			err = set.Locate(err, 0)
		}
	}
	out.result.Seconds.Refit = time.Since(began).Seconds()
	return model, err
}

// gridSearch returns the search over the training rows, with its journal. set contains the rows if
// they are in memory.
func gridSearch(data *loaded, set datasets.Set, out *outputs) gridsearch.Search {
	search := data.spec.GridSearch(set.Groups != nil, data.Task)
	if data.Streamed {
		search.Splitter = data.spec.StreamedFolds()
	}
	search.Start = data.start
	search.Journal = out.folder.Journal(journalKey(data.spec, out.result.SHA256, startDigest(out.result.Search)))
	return search
}

// search chooses a candidate by the search of the experiment, and fits it to all training rows.
func search(ctx context.Context, data *loaded, o Options, out *outputs) (f fitted, err error) {
	var set datasets.Set
	if !data.Streamed {
		if set, err = datasets.ReadAll(ctx, data.Train); err != nil {
			return f, err
		}
	}
	search := gridSearch(data, set, out)
	if o.SearchJournal != nil {
		if err := os.WriteFile(search.Journal, o.SearchJournal, 0o644); err != nil {
			return f, fmt.Errorf("experiment: %w", files.Tell(err))
		}
	}
	search.RefitEstimator = finalOf(data.spec, data.shape, data.Streamed)
	watched, stop := func(gridsearch.Progress) {}, func() {}
	if o.Searching != nil {
		w := newWatch(o.Searching, time.Now)
		watched, stop = w.see, w.run()
	}
	search.Progress = func(p gridsearch.Progress) {
		watched(p)
		phase := "search"
		if p.Done == p.Total {
			phase = "refit"
		}
		o.Progress.report(phase, p.Done, p.Total)
	}
	found := &out.result
	if data.Streamed {
		f.search, err = search.RunSource(ctx, data.Train)
	} else {
		f.search, err = search.Run(ctx, set)
	}
	if stop(); err != nil {
		return f, ofStart(ofHalving(err), o.StartFrom)
	}
	found.Search = summary(f.search, found.Search)
	f.model, f.score = f.search.Model, f.search.Score
	found.Seconds.Search, found.Seconds.Refit = f.search.Seconds, f.search.RefitSeconds
	out.folder.KeepJournals = f.search.Unreached > 0
	out.warn(f.search.Warnings...)
	return f, nil
}

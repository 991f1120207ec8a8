// Package bochner is the front door of a library for kernel machines on many rows, by random features
// (Rahimi and Recht, NIPS 2007): a random map turns each row into D numbers whose inner products
// approximate a kernel, and a linear model on these numbers is then the kernel machine, in time that
// grows like the number of rows.
//
// What most programs need is here. [Load] reads a file, [KernelMachine] proposes a pipeline for its rows,
// [Fit] fits a pipeline, [Search] chooses its parameters by cross-validation, and [Open] reads a model
// that [modelfile.Model.Save] has written. A model predicts rows of named values:
//
//	flats, err := bochner.Load(ctx, "flats.csv", "rent")
//	model, err := bochner.Fit(ctx, bochner.KernelMachine(flats), flats)
//	rents, err := model.PredictRows(ctx, []map[string]any{{"size": 62, "district": "harbour"}})
//
// # The one idea
//
// A model is learned by a pass over blocks of rows, or a few passes, and rows are mapped by pure
// functions of a block. What learns keeps a small state, a [datasets.Pass], to which a block is added and
// into which the state of another worker is merged; what maps never changes once it is fitted. Hence a fit
// uses all cores, reads files larger than memory, goes on when rows come later, can be done on several
// machines, and gives the same bits for any number of cores; and a fitted model may be used by many
// goroutines at once.
//
// So there are two types for everything. A spec, such as [transformer.RFF] or [estimator.Ridge], is a
// plain struct value with the parameters: its constructor fills in the defaults, assignment copies it, and
// fitting leaves it as it is. What fitting returns is the other type, which cannot be changed.
//
// # The rooms
//
// Each package has one idea, and its documentation begins with it:
//
//   - [datasets]: rows in memory, or as a stream of blocks, and the schema that names their columns; the
//     readers are Load for files of any format and a package for each format, and
//     datasets/builtin has small real sets.
//   - [transformer]: steps that map rows, such as random features, scaling and one-hot columns.
//   - [estimator]: models, such as ridge and logistic regression and support vector machines;
//     estimator/meta has those that are made of others: calibrated, deciding by costs, with intervals, on transformed targets, an ensemble.
//   - [pipeline]: steps and a model as one estimator; pipeline/yaml reads and writes one, and
//     [modelfile] keeps a fitted one in a file.
//   - [gridsearch]: cross-validated searches that share work between their candidates.
//   - metrics: scores by the names that scikit-learn has for them.
//   - param: the parameters of any spec, listed, checked and replaced by path.
//   - experiment: all of it described by one YAML file, which cmd/bochner runs.
//
// Anybody's own type with the methods of [transformer.Fitter] or [estimator.Estimator] is a step or a
// model like those here; docs/custom-steps.md builds two, and examples/outside is a module of its
// own whose steps and models do all that ours do.
package bochner

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/internal/preprocessing"
	"github.com/bochner-ml/bochner/internal/profile"
	"github.com/bochner-ml/bochner/internal/reader"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/transformer"
)

// Load returns all rows of a CSV, TSV, ARFF or svmlight file, gzip'd or not, or of numpy's arrays, with the column to be
// predicted, for which "" takes the last one. How the file is written is told by its name and its first
// lines, and the kinds of the columns by their values: a column of texts is categorical. A target of texts,
// or of at most 10 different integers, is a class, any other a quantity.
//
// Each file has its own codes of categories, by the values that it has: predict the rows of a second
// file by [modelfile.Model.Predict], which aligns them with those of the fit. Predict of a fitted pipeline
// takes the codes of a matrix as they are, and is right for the set that it was fitted to.
//
// Parquet and Arrow are read by programs that import datasets/parquet or datasets/arrow, if only for that:
//
//	import _ "github.com/bochner-ml/bochner/datasets/parquet"
//
// Files that need to be explained, and those larger than memory, are for csv.Open and its like.
func Load(ctx context.Context, path, target string) (datasets.Set, error) {
	return reader.Read(ctx, path, target)
}

// LoadInputs is [Load] of a file without a column to be predicted: for models that learn without a target, such as
// those of estimator/cluster and estimator/anomaly, and for rows to predict for.
func LoadInputs(ctx context.Context, path string) (datasets.Set, error) {
	return reader.ReadInputs(ctx, path)
}

// KernelMachine returns a pipeline that suits the columns and the target of the rows: missing numbers
// become the median, numbers are standardized, categories become columns of 0 and 1, random Fourier
// features of the gaussian kernel come next, and logistic regression where the target has classes, ridge
// regression where it has not. Without targets in the schema, integers from 0 to 9 are class codes. Parameters are the defaults, for [Search] to choose others, by paths such
// as rff.gamma, logistic.C and ridge.alpha.
//
// Numbers of sparse rows stay as they are: to centre them would fill their zeros.
func KernelMachine(data datasets.Set) pipeline.Pipeline {
	var model estimator.Estimator = estimator.NewRidge()
	if len(data.Schema.Classes()) > 0 || len(data.Schema.Targets) == 0 && areCodes(data.Y) {
		model = estimator.NewLogistic()
	}
	table := preprocessing.Of(data)
	table.Missing = true // for rows to predict, which may miss what no row of these does
	return append(preprocessing.Steps(table), pipeline.Steps(transformer.NewRFF())...).Then(model)
}

// areCodes reports whether numbers can be class codes: at most 10 different integers from 0.
func areCodes(y []float64) bool {
	for _, v := range y {
		if v != math.Trunc(v) || v < 0 || v >= 10 {
			return false
		}
	}
	return len(y) > 0
}

// Fit fits the pipeline to the rows and returns the model, which predicts and which can be saved. Its Profile says what
// the rows looked like.
func Fit(ctx context.Context, machine pipeline.Pipeline, data datasets.Set) (*modelfile.Model, error) {
	fitted, err := machine.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	return modelOf(ctx, fitted, data)
}

// modelOf returns the model of a pipeline that was fitted to the rows.
func modelOf(ctx context.Context, fitted estimator.Predictor, data datasets.Set) (*modelfile.Model, error) {
	m, err := modelfile.New(fitted)
	if err != nil {
		return nil, err
	}
	seen, err := profile.Of(ctx, data.Source())
	m.Profile = &seen
	return m, err
}

// Search tries the pipeline with every combination of the values of the axes, by cross-validation in
// five folds, and returns the best of them, fitted to all rows, and what it found: the scores of all. The
// score is accuracy where the target has classes, else r2; for models that learn without a target it is the one
// of [gridsearch.Search]. Folds are drawn at random, always the same;
// they keep the shares of the classes, or the groups together where the rows have groups.
//
// A [gridsearch.Search] has more: other scores and folds, a budget of time, a journal by which it goes on
// where it was stopped, and the progress of it.
func Search(ctx context.Context, machine pipeline.Pipeline, data datasets.Set, axes ...gridsearch.Axis) (*modelfile.Model, *gridsearch.Result, error) {
	search := gridsearch.NewSearch(machine, axes...)
	switch {
	case data.Groups != nil:
		search.Splitter = datasets.GroupKFold{Folds: gridsearch.DefaultFolds, Shuffle: true}
	case len(data.Schema.Classes()) > 0 || machine.Task() == datasets.Classification:
		search.Splitter = datasets.StratifiedKFold{Folds: gridsearch.DefaultFolds, Shuffle: true}
	default:
		search.Splitter = datasets.KFold{Folds: gridsearch.DefaultFolds, Shuffle: true}
	}
	result, err := search.Run(ctx, data)
	if err != nil {
		return nil, nil, err
	}
	model, err := modelOf(ctx, result, data)
	if err != nil {
		return nil, result, err
	}
	return model, result, nil
}

// Open returns the model in a file that [modelfile.Model.Save] or the command has written. Steps that are
// not built in are to be registered before.
func Open(path string) (*modelfile.Model, error) {
	return modelfile.Load(path)
}

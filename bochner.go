// Package bochner trains and applies kernel machines by random features (Rahimi and Recht, NIPS 2007):
// a random map turns each row into D numbers whose inner products approximate a kernel, and a linear
// model on these numbers approximates the kernel machine in time linear in the number of rows.
//
// This package has what most programs need. [Load] reads a file, and [datasets.FromStructs] takes rows
// that a program has; [KernelMachine] proposes a pipeline, [Fit] fits it, [CrossValidate] scores it,
// [Search] selects its parameters by cross-validation, and [Open] loads a model that
// [modelfile.Model.Save] wrote; [OpenWatched] follows the file. [NewModel] makes the model of any other fit. A model
// predicts rows given as structs or as named values:
//
//	flats, err := bochner.Load(ctx, "flats.csv", "rent")
//	model, err := bochner.Fit(ctx, bochner.KernelMachine(flats), flats)
//	rent, err := model.PredictRow(ctx, map[string]any{"size": 62, "district": "harbour"})
//
// # Specs and fitted values
//
// A spec, such as [transformer.RFF] or [estimator.Ridge], is a plain struct with the parameters. Its
// constructor sets the defaults, assignment copies it, and fitting does not change it. Fitting returns
// a value of another type, which is immutable and safe for concurrent use.
//
// A fit is one pass over blocks of rows, or a few. An estimator accumulates a small mergeable state, a
// [datasets.Pass]. Fits therefore use all cores, read files larger than memory, can be distributed and
// resumed, and return the same bits for any number of cores.
//
// # Packages
//
//   - [datasets]: rows in memory or as a stream of blocks, with a schema; one package per file format.
//     datasets/builtin has small real data sets.
//   - [transformer]: steps that map rows: random features, scaling, one-hot encoding.
//   - [estimator]: models: ridge and logistic regression, support vector machines. estimator/meta has
//     wrappers: calibration, thresholds, intervals, target transformations, ensembles.
//   - [pipeline]: steps and a model as one estimator. pipeline/yaml reads and writes pipelines, and
//     [modelfile] saves fitted ones.
//   - [gridsearch]: cross-validated searches that share work between candidates.
//   - metrics: scores, with scikit-learn's names.
//   - param: listing, validation and replacement of the parameters of any spec.
//   - experiment: experiments described by one YAML file, which cmd/bochner runs.
//
// Any type with the methods of [transformer.Fitter] or [estimator.Estimator] is a step or a model;
// docs/custom-steps.md builds two, and examples/outside is a separate module with more.
package bochner

import (
	"context"
	"math"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/learning/preprocessing"
	"github.com/bochner-ml/bochner/internal/rows/profile"
	"github.com/bochner-ml/bochner/internal/rows/reader"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

// Load reads all rows of a CSV, TSV, ARFF, svmlight or NumPy file, gzip-compressed or not. target
// names the column to predict; "" means the last one. The format is inferred from the name and the
// first lines, the kinds of columns from their values: a column of strings is categorical. A target
// of strings, or of at most 10 different integers, is a class; any other target is numeric.
//
// Each file has its own category codes. Predict the rows of a second file with
// [modelfile.Model.Predict], which aligns them with the training rows. Predict of a fitted pipeline
// does not align codes, so it is correct only for the set of the fit.
//
// To read Parquet and Arrow files, a program must import datasets/parquet or datasets/arrow:
//
//	import _ "github.com/bochner-ml/bochner/datasets/parquet"
//
// Use csv.Options.Open and its counterparts for reading options and for files larger than memory.
func Load(ctx context.Context, path, target string) (datasets.Set, error) {
	return reader.Read(ctx, path, target)
}

// LoadInputs is [Load] for a file without a target: for clustering, anomaly detection, and rows to
// predict.
func LoadInputs(ctx context.Context, path string) (datasets.Set, error) {
	return reader.ReadInputs(ctx, path)
}

// KernelMachine proposes a pipeline for the columns and the target of the rows: median imputation and
// standardization of numbers, one-hot encoding of categories, random Fourier features of the Gaussian
// kernel, then logistic regression for classes or labels and ridge regression otherwise. Without
// targets in the schema, integers from 0 to 9 are class codes. The parameters are defaults; [Search] selects others by
// paths such as rff.gamma, logistic.C and ridge.alpha.
//
// Text columns become tf-idf of words and pairs of words. The model is then linear, without random features: rows of
// many terms are close to linearly separable.
//
// Sparse rows are not standardized, because centering would fill in their zeros.
func KernelMachine(data datasets.Set) pipeline.Pipeline {
	table := preprocessing.Of(data)
	table.Missing = true // rows to predict may have missing values where these have none
	return preprocessing.Machine(table, len(data.Schema.Classes()) > 0 || data.Schema.Labels() != nil ||
		len(data.Schema.Targets) == 0 && areCodes(data.Y))
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

// Fit fits the pipeline to the rows and returns the model, which predicts and can be saved. Its Profile
// summarizes the columns of the rows.
func Fit(ctx context.Context, machine pipeline.Pipeline, data datasets.Set) (*modelfile.Model, error) {
	fitted, err := machine.Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	return NewModel(ctx, fitted, data.Source())
}

// FitSource is [Fit] over a stream of blocks, such as a file larger than memory. It reads the rows again for the
// Profile.
func FitSource(ctx context.Context, machine pipeline.Pipeline, rows datasets.Source) (*modelfile.Model, error) {
	fitted, err := machine.FitSource(ctx, rows)
	if err != nil {
		return nil, err
	}
	return NewModel(ctx, fitted, rows)
}

// NewModel returns the complete model of any other fit: of a [gridsearch.Search] or an automatic search with its own
// folds or a stream. rows are the training
// rows, which it reads once for the Profile of the model: explanations of the server and drift
// reports require it. fitted is a fitted pipeline or the result of a search over pipelines.
//
//	result, err := search.RunSource(ctx, rows)
//	model, err := bochner.NewModel(ctx, result, rows)
func NewModel(ctx context.Context, fitted estimator.Predictor, rows datasets.Source) (*modelfile.Model, error) {
	m, err := modelfile.New(fitted)
	if err != nil {
		return nil, err
	}
	seen, err := profile.Of(ctx, rows)
	if err != nil {
		return nil, err
	}
	m.Profile = &seen
	return m, nil
}

// Open loads a model file written by [modelfile.Model.Save] or by the command. Register custom steps
// first.
func Open(path string) (*modelfile.Model, error) {
	return modelfile.Load(path)
}

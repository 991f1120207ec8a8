package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/kernel"
	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/attention"
)

// comparison is a row of the table: a capability and its alternatives.
type comparison struct {
	name, about string
	set, rows   string // data set, and its description
	scores      scores
	ours        []ours
	peers       []peer
	published   []string // where no peer can be run here
}

// scores are names of metrics in the order of the table.
type scores []string

// ours is an experiment file of this directory, or a measurement of this program.
type ours struct {
	about   string
	spec    string
	measure string
	train   bool // whether the scores are for the training rows
}

// peer is a function of peers.py.
type peer struct{ name, about string }

func names() (out []string) {
	for _, c := range comparisons {
		out = append(out, c.name)
	}
	return out
}

var comparisons = []comparison{
	{
		name: "draws", about: "error of a gaussian kernel by 512 features", set: "cpu_act",
		rows:   "cpu_act, 500 rows, 20 seeds",
		scores: scores{"kernel_rms"},
		ours: []ours{
			{about: "iid", measure: "iid"}, {about: "orthogonal", measure: "orthogonal"},
			{about: "qmc", measure: "qmc"}, {about: "structured", measure: "structured"},
		},
		peers: []peer{{"kernel_error", "RBFSampler"}},
	},
	{
		name: "sgd", about: "stochastic gradient on 1,000 features", set: "covtype",
		rows:   "covtype, class 2 against the rest, 74,370 rows",
		scores: scores{"accuracy"},
		ours:   []ours{{about: "sgd_classifier", spec: "sgd.yaml"}},
		peers:  []peer{{"sgd", "RBFSampler, SGDClassifier"}},
	},
	{
		name: "network", about: "trainable features", set: "kin8nm", rows: "kin8nm, 7,372 rows",
		scores: scores{"r2", "root_mean_squared_error"},
		ours: []ours{{about: "rff_network", spec: "network.yaml"},
			{about: "the same width, not trained", spec: "fixed.yaml"}},
		peers: []peer{{"mlp", "MLPRegressor"}},
	},
	{
		name: "gaussian_process", about: "gaussian process, scales by the evidence", set: "concrete",
		rows:   "concrete, 927 rows",
		scores: scores{"root_mean_squared_error", "nlpd", "coverage"},
		ours:   []ours{{about: "gaussian_process", spec: "gaussian_process.yaml"}},
		peers:  []peer{{"gaussian_process", "GaussianProcessRegressor"}},
	},
	{
		name: "attention", about: "causal attention, 8 heads of 64, 4,096 positions",
		rows:   "normal numbers; queries and keys half as long",
		scores: scores{"relative_error"},
		ours: []ours{{about: "linear, 256 features", measure: "linear"}, {about: "exact", measure: "exact"},
			{about: "linear against exact", measure: "both"}},
		peers: []peer{{"attention", "numpy, exact,"}},
	},
	{
		name: "kernel_pca", about: "kernel PCA, then logistic regression on 2 components", set: "circles",
		rows:   "two circles, 1,000 rows",
		scores: scores{"accuracy"},
		ours:   []ours{{about: "rff, pca", spec: "kernel_pca.yaml"}},
		peers:  []peer{{"kernel_pca", "KernelPCA"}},
	},
	{
		name: "kmeans", about: "k-means, 10 clusters, 10 restarts", set: "digits", rows: "optdigits, 4,496 rows",
		scores: scores{"adjusted_rand", "normalized_mutual_info"},
		ours:   []ours{{about: "kmeans", spec: "kmeans.yaml", train: true}},
		peers:  []peer{{"kmeans", "KMeans"}},
	},
	{
		name: "spectral", about: "spectral clustering", set: "moons", rows: "two moons, 1,000 rows",
		scores: scores{"adjusted_rand"},
		ours: []ours{{about: "binning, spectral", spec: "spectral.yaml", train: true},
			{about: "kmeans", spec: "moons_kmeans.yaml", train: true}},
		peers: []peer{{"spectral", "SpectralClustering"}},
	},
	{
		name: "one_class", about: "attacks as anomalies, learned from usual connections", set: "connections",
		rows:   "kddcup99, 20,000 rows",
		scores: scores{"roc_auc"},
		ours:   []ours{{about: "rff, one_class", spec: "one_class.yaml"}},
		peers:  []peer{{"one_class_svm", "OneClassSVM"}, {"isolation_forest", "IsolationForest"}},
	},
	{
		name: "calibrated", about: "probabilities of a linear SVM on 1,000 features", set: "covtype",
		rows:   "covtype, class 2 against the rest, 74,370 rows",
		scores: scores{"accuracy", "log_loss"},
		ours:   []ours{{about: "calibrated svm", spec: "calibrated.yaml"}},
		peers:  []peer{{"calibrated", "CalibratedClassifierCV"}},
	},
	{
		name: "intervals", about: "intervals of level 90 %, leave-one-out", set: "concrete", rows: "concrete, 927 rows",
		scores: scores{"coverage", "width"},
		ours:   []ours{{about: "jackknife+", spec: "jackknife_plus.yaml"}, {about: "split", spec: "split.yaml"}},
		peers:  []peer{{"mapie", "MAPIE, jackknife+"}},
	},
}

// measureOne prints the scores of one measurement of this program.
func measureOne(ctx context.Context, name string, args []string) error {
	scores, err := measurement(ctx, name, args)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(scores)
}

func measurement(ctx context.Context, name string, args []string) (map[string]float64, error) {
	switch name {
	case "linear", "exact", "both":
		return attend(ctx, name)
	}
	return kernelError(ctx, name, args[0])
}

// kernelError returns the root mean square of the errors of 20 maps, at the pairs of the first 500 rows of a file.
func kernelError(ctx context.Context, draw, path string) (map[string]float64, error) {
	data, err := csv.Options{Roles: datasets.Roles{Target: []string{"y"},
		Task: datasets.Regression}}.ReadFile(ctx, path)
	if err != nil {
		return nil, err
	}
	scale, err := transformer.NewStandardize().Fit(ctx, data)
	if err != nil {
		return nil, err
	}
	if data.X, err = scale.Transform(ctx, data.X); err != nil {
		return nil, err
	}
	data = data.Slice(0, 500)
	squares := 0.0
	const seeds = 20
	for seed := range uint64(seeds) {
		spec := transformer.NewRFF()
		spec.Draw, spec.Features, spec.Seed = draw, 512, seed
		spec.Gamma = kernel.FixedGamma(1 / float64(data.Cols()))
		fit, err := spec.Fit(ctx, data)
		if err != nil {
			return nil, err
		}
		errors, err := fit.(*transformer.FittedRFF).KernelErrors(ctx, data.X, []int{spec.Features})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", draw, err)
		}
		squares += errors[0].RMS * errors[0].RMS
	}
	return map[string]float64{"kernel_rms": math.Sqrt(squares / seeds)}, nil
}

// attend measures linear attention against the exact one, on normal numbers.
func attend(ctx context.Context, name string) (map[string]float64, error) {
	shape := attention.NewShape(1, 8, 4096, 64)
	shape.Causal = true
	rng := rand.New(rand.NewPCG(1, 1))
	normal := func(sd float64) []float32 {
		x := make([]float32, shape.Heads*shape.Keys*shape.Width)
		for i := range x {
			x[i] = float32(sd * rng.NormFloat64())
		}
		return x
	}
	q, k, v := normal(0.5), normal(0.5), normal(1)
	var exact, linear []float32
	var err error
	if name != "linear" {
		if exact, err = attention.ExactFloat32(ctx, shape, q, k, v); err != nil {
			return nil, err
		}
	}
	if name != "exact" {
		features, err := attention.NewFeatures(shape.Width, 256, "orthogonal", 1)
		if err != nil {
			return nil, err
		}
		if linear, err = features.LinearFloat32(ctx, shape, q, k, v); err != nil {
			return nil, err
		}
	}
	if name != "both" {
		return map[string]float64{}, nil
	}
	off, of := 0.0, 0.0
	for i, e := range exact {
		off += float64(linear[i]-e) * float64(linear[i]-e)
		of += float64(e) * float64(e)
	}
	return map[string]float64{"relative_error": math.Sqrt(off / of)}, nil
}

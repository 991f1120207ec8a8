// Package importrules lists the allowed imports of each package, and tests that the code has no
// others. Add a new import here, in the change that needs it.
package importrules

// Module is the module's path.
const Module = "github.com/bochner-ml/bochner"

// Everywhere lists the packages that every package of the module may import.
var Everywhere = []string{"internal/runtime/ctxerr", "internal/runtime/guard", "internal/rows/rowblock",
	"internal/rows/rowsource", "internal/spec/specs", "internal/spec/suggest", "internal/rows/textrows"}

// Allowed lists the module packages that each non-test package may import. A listed directory
// allows all packages below it, except that "datasets" allows datasets/csv only to packages that
// list it, or a directory above it with a trailing "/...".
var Allowed = map[string][]string{
	"matrices":     {},
	"param":        {"internal/spec/paramkind"},
	"kernel":       {"param", "internal/kern"},
	"graph":        {"internal/codec/ops"}, // what a fitted pipeline computes, for other programs
	"graph/onnx":   {"graph", "internal/codec/ops"},
	"graph/golang": {"graph", "internal/codec/ops"},
	"graph/python": {"graph", "internal/codec/ops"},
	// tests of one model against another
	"metrics/compare": {},
	// for the tasks; distances of rows
	"metrics": {"datasets", "matrices", "internal/codec/svg", "internal/design", "internal/kern",
		"internal/features/pairwise"},
	// names of operations
	"internal/codec/archive":       {"internal/runtime/files"}, // model files
	"internal/codec/ops":           {},
	"internal/kern":                {},
	"internal/solve":               {"internal/design", "internal/kern", "model"},
	"internal/testing/golden":      {},
	"internal/runtime/ctxerr":      {},
	"internal/runtime/guard":       {},
	"internal/testing/canceltest":  {"internal/testing/exhaustive"},
	"internal/testing/snapshot":    {}, // for tests: whether a value has changed
	"internal/testing/importrules": {},
	"internal/rows/rowblock":       {"matrices", "internal/rows/textrows"}, // slices of rows; sizes of blocks
	"internal/rows/rowsource":      {"datasets"},                           // sources derived from sources
	"internal/spec/suggest":        {},                                     // names in messages
	"internal/spec/specs":          {"param"},                              // specs beyond what param offers to authors
	"internal/spec/paramkind":      {},                                     // names of kinds of parameters
	"internal/rows/rowfile":        {"datasets", "internal/runtime/files"}, // files of rows: listed, regular, unchanged
	"internal/testing/exhaustive":  {},                                     // for tests: which cases are taken
	"internal/features/murmur":     {},                                     // hashes of strings
	"internal/runtime/files":       {},                                     // written in full or not at all
	// documents to weighted term counts
	"internal/features/textfeatures": {"internal/kern", "internal/runtime/memory", "internal/features/murmur", "model",
		"matrices"},
	"internal/rows/textrows":   {}, // rows with text columns
	"internal/codec/svg":       {},
	"internal/codec/jsonscan":  {}, // JSON, with the place of what is wrong
	"internal/runtime/memory":  {},
	"internal/runtime/cputime": {}, // the clock of benchmarks
	"internal/runtime/journal": {"datasets", "matrices", "param"},
	// residuals of rows that a model had not seen to intervals
	"internal/learning/conformal": {},
	// scores of a classifier to probabilities
	"estimator/internal/calibration": {"graph", "estimator/internal/monotone", "model"},
	"estimator/internal/threshold":   {}, // where to cut the scores of two classes
	"datasets/pass":                  {"internal/codec/archive", "datasets", "model", "param"},
	// the steps that packages declare
	"internal/spec/registry": {"model"},

	"experiment/internal/distributed": {"datasets", "model"},      // one fit of many workers: sums in a fixed order
	"internal/runtime/store":          {"internal/runtime/files"}, // states and models, by path or URL
	"internal/testing/storetest":      {"internal/runtime/store"},

	// Conformance checks of passes.
	"internal/testing/passtest": {"internal/codec/archive", "datasets", "model", "internal/testing/canceltest"},

	"internal/rows/structrows": {}, // rows of structs as named values
	"datasets":                 {"matrices", "model", "internal/rows/structrows"},
	"model": {"internal/codec/archive", "internal/learning/conformal", "internal/runtime/files",
		"matrices"},

	// Leaf packages, one for each outside format or origin of data.
	"datasets/csv":      {"datasets", "datasets/internal/..."},
	"datasets/svmlight": {"datasets", "datasets/internal/...", "internal/runtime/memory", "matrices"},
	"datasets/sql":      {"datasets", "datasets/internal/..."},
	"datasets/jsonl":    {"datasets", "datasets/internal/...", "internal/codec/jsonscan"},
	"datasets/arff":     {"datasets", "datasets/internal/..."},
	"datasets/npy":      {"datasets", "datasets/internal/..."},
	"datasets/parquet":  {"internal/rows/formats", "datasets", "datasets/internal/...", "internal/runtime/memory"},
	"datasets/arrow":    {"internal/rows/formats", "datasets", "datasets/internal/..."},
	"internal/rows/reader": {"internal/rows/rowfile", "datasets", "internal/rows/formats", "datasets/arff",
		"datasets/csv", "datasets/jsonl", "datasets/npy", "datasets/svmlight", "internal/runtime/files", "param"},
	"datasets/builtin":   {"datasets", "datasets/csv", "datasets/arff"},
	"datasets/synthetic": {"datasets"},

	// The adapter for golearn; no other package imports it.
	"inspection/plot": {}, // figures for notebooks
	"golearn": {"datasets", "matrices", "param", "transformer", "estimator", "pipeline", "pipeline/modelfile",
		"gridsearch"},

	// Shared by the readers.
	"datasets/internal/text":   {"datasets", "datasets/internal/steady"},
	"datasets/internal/steady": {"internal/rows/rowfile", "datasets"},
	// imported by programs explicitly
	"internal/rows/formats":   {"datasets"},
	"datasets/internal/guard": {"internal/runtime/memory"},
	"datasets/internal/table": {"datasets", "datasets/internal/steady", "datasets/internal/text",
		"internal/rows/structrows", "matrices"},

	// Solvers on rows of any kind. Inputs and outputs are numeric columns.
	"internal/design": {"datasets", "matrices", "internal/kern"},
	"estimator/internal/leastsquares": {"internal/design", "internal/kern", "datasets/pass", "internal/solve",
		"datasets", "matrices", "model"},
	"estimator/internal/newton": {"internal/design", "estimator/internal/leastsquares", "internal/kern",
		"datasets/pass", "internal/solve", "datasets", "matrices", "model"},
	// many candidates on many folds: the contract, and the solvers of package estimator
	"batch": {"datasets", "model", "matrices"},
	"estimator/internal/joint": {"batch", "model", "matrices", "estimator/internal/kernelridge",
		"estimator/internal/kernelsvm", "estimator/internal/smo", "internal/runtime/memory", "internal/design",
		"estimator/internal/leastsquares", "estimator/internal/newton", "estimator/internal/descent", "internal/kern",
		"internal/solve", "datasets"},
	"estimator/internal/sgd": {"internal/design", "internal/kern", "internal/solve", "internal/features/spectral",
		"datasets", "matrices", "model"},
	"estimator/internal/descent": {"internal/design", "internal/kern", "internal/solve", "datasets", "matrices"},
	"estimator/internal/lasso":   {"internal/design", "internal/kern", "internal/solve", "datasets", "matrices"},

	"estimator/internal/kernelsvm": {"kernel", "datasets", "estimator/internal/kernelridge", "estimator/internal/smo",
		"internal/solve", "internal/features/spectral", "internal/features/pairwise", "internal/runtime/memory",
		"internal/design", "internal/kern"},
	"estimator/internal/smo": {"internal/features/pairwise", "internal/solve", "internal/design", "internal/kern"},

	"estimator/internal/kernelridge": {"graph", "kernel", "datasets", "matrices", "internal/features/landmarks",
		"internal/features/pairwise", "internal/features/spectral", "internal/solve", "internal/runtime/memory",
		"internal/design", "internal/kern"},

	// Random features: kernels, samplers and the two maps. Inputs and outputs are numeric columns.
	"internal/features/spectral": {"datasets", "kernel", "param", "internal/design", "internal/kern", "model",
		"matrices"},
	"internal/features/softmax": {"graph", "internal/features/spectral", "internal/design", "internal/kern",
		"internal/runtime/memory", "matrices"},
	"internal/features/fourier": {"graph", "internal/features/spectral", "internal/design", "internal/kern",
		"internal/runtime/memory", "matrices"},
	"transformer/internal/bins": {"internal/features/spectral", "internal/design", "internal/kern",
		"internal/runtime/memory", "matrices"},

	// The kernels themselves, of all pairs of rows.
	"internal/features/pairwise": {"graph", "kernel", "internal/features/spectral", "internal/design", "internal/kern",
		"matrices"},
	"internal/features/landmarks": {"model", "graph", "internal/features/pairwise", "internal/features/spectral",
		"internal/design", "internal/kern", "internal/runtime/memory", "matrices"},

	// Learned scales, on the same kind of features.
	"internal/features/evidence": {"internal/features/pairwise", "internal/design", "internal/kern", "matrices"},
	// of rows, with their targets
	"internal/features/sample": {"internal/design", "internal/features/spectral", "datasets", "matrices"},

	// Layers of random features with trained frequencies.
	"estimator/internal/network": {"graph", "internal/features/fourier", "internal/features/spectral",
		"internal/design", "internal/solve", "internal/kern", "datasets", "matrices"},

	// Maps learned from gradients of kernel machines.
	"transformer/internal/agop": {"internal/features/pairwise", "internal/features/fourier", "internal/kern",
		"internal/runtime/memory"},

	// Peers: no arrow between transformer and estimator, none between pipeline and gridsearch.
	"transformer/attention": {"internal/features/softmax", "internal/design", "internal/kern",
		"internal/runtime/memory"},
	"transformer": {"batch", "internal/spec/registry", "internal/rows/origin", "graph", "datasets", "kernel",
		"matrices", "param", "model", "internal/features/spectral", "internal/features/fourier",
		"internal/features/softmax", "transformer/internal/bins", "internal/features/evidence",
		"internal/features/sample", "transformer/internal/agop", "internal/design", "internal/kern",
		"internal/runtime/memory", "datasets/pass", "internal/features/pairwise", "internal/features/landmarks",
		"internal/features/murmur", "internal/features/textfeatures"},
	"estimator": {"internal/features/landmarks", "internal/spec/registry", "batch", "graph", "estimator/internal/sgd",
		"datasets", "kernel", "estimator/internal/network", "estimator/internal/kernelridge",
		"estimator/internal/kernelsvm", "internal/features/pairwise", "internal/features/spectral",
		"internal/features/fourier", "internal/features/evidence", "internal/features/sample", "matrices", "param",
		"model", "internal/design", "estimator/internal/leastsquares", "estimator/internal/newton",
		"estimator/internal/descent", "estimator/internal/joint", "estimator/internal/lasso", "internal/kern",
		"internal/solve",
		"internal/runtime/memory", "datasets/pass", "internal/learning/conformal"},
	"internal/learning/predictorstate": {"estimator", "model"},
	"pipeline": {"internal/codec/archive", "internal/spec/registry", "batch", "internal/learning/predictorstate", "graph",
		"pipeline/internal/...", "transformer", "estimator", "estimator/meta", "estimator/cluster", "estimator/anomaly",
		"datasets", "matrices", "param", "model", "internal/codec/svg", "internal/runtime/memory", "internal/design",
		"datasets/pass", "kernel"},
	// what is known of rows in addition to predictions
	"internal/learning/metricinput": {"estimator", "metrics", "datasets", "param"},
	// the loop that the strategies of searches share
	"internal/learning/searchloop": {"batch", "estimator", "model", "internal/runtime/journal", "internal/runtime/memory"},
	"gridsearch": {"batch", "internal/design", "internal/learning/metricinput", "internal/learning/searchloop",
		"estimator", "param", "metrics", "datasets", "internal/codec/svg", "internal/runtime/memory",
		"internal/runtime/journal"},

	// Meta-estimators and their algorithms: target transforms, calibration, weights. A threshold is
	// selected by a metric.
	"estimator/meta": {"internal/spec/registry", "batch", "internal/learning/predictorstate",
		"internal/spec/paramkind", "graph", "estimator", "datasets", "param", "model", "internal/design",
		"estimator/internal/monotone", "estimator/internal/calibration", "internal/learning/stacking",
		"internal/learning/conformal", "estimator/internal/threshold", "metrics"},
	"estimator/internal/monotone": {"graph", "model"},
	"internal/learning/stacking":  {"internal/solve", "internal/design", "model", "datasets"},

	// Unsupervised models and their solvers: cluster centers, singular vectors, one-class
	// hyperplanes.
	"estimator/cluster": {"estimator/internal/kernelridge", "internal/features/landmarks", "kernel",
		"internal/spec/registry", "graph", "estimator", "datasets", "datasets/pass", "param", "model",
		"estimator/internal/kmeans", "estimator/internal/singular", "internal/design", "internal/kern",
		"internal/runtime/memory"},
	"estimator/anomaly": {"internal/spec/registry", "graph", "estimator", "datasets", "param", "model",
		"estimator/internal/oneclass", "internal/design", "internal/kern", "internal/runtime/memory"},
	"estimator/internal/kmeans": {"graph", "internal/design", "internal/kern", "internal/features/spectral",
		"datasets", "datasets/pass", "model", "matrices"},
	"estimator/internal/singular": {"internal/design", "internal/kern", "internal/features/spectral", "datasets",
		"matrices"},
	"estimator/internal/oneclass": {"internal/design", "internal/kern", "matrices"},

	// Below pipeline: where an error happened, some columns of rows, the rows that a step is fitted to, and
	// the tree of candidates of a search. Above it, documents and files.
	"pipeline/internal/place": {},
	"pipeline/internal/pick":  {"datasets"},
	"pipeline/internal/rows": {"pipeline/internal/place", "pipeline/internal/pick", "transformer", "estimator",
		"datasets", "matrices", "internal/design", "internal/kern"},
	"pipeline/internal/samples": {"pipeline", "transformer", "kernel", "datasets"},
	"pipeline/modelfile": {"internal/codec/archive", "graph", "pipeline", "pipeline/yaml", "pipeline/internal/pick",
		"estimator", "metrics",
		"internal/learning/metricinput", "datasets", "internal/rows/profile", "model", "internal/runtime/files",
		"internal/rows/rowencoding", "internal/rows/structrows", "internal/codec/svg"},
	"internal/codec/yamlnode": {"param"}, // nodes of YAML documents
	"pipeline/yaml": {"internal/codec/yamlnode", "pipeline", "transformer", "estimator", "estimator/meta", "param",
		"internal/spec/paramkind"},

	// Invariants as conformance suites for any implementation.
	"datasets/sourcetest":        {"internal/testing/panictest", "datasets"},
	"internal/testing/panictest": {},
	"transformer/transformertest": {"internal/codec/archive", "batch", "internal/testing/panictest", "graph",
		"transformer", "datasets",
		"matrices", "model", "internal/testing/canceltest", "internal/testing/passtest", "internal/testing/snapshot"},
	"estimator/estimatortest": {"internal/codec/archive", "internal/testing/panictest", "batch", "graph", "estimator",
		"datasets", "matrices",
		"param", "model", "internal/testing/canceltest", "internal/testing/passtest", "internal/testing/snapshot"},

	// steps that make numbers of columns, for proposals
	"internal/learning/preprocessing": {"pipeline", "transformer", "estimator", "datasets"},

	// Automatic model search.
	"auto": {"kernel", "batch", "internal/runtime/memory", "internal/learning/preprocessing", "pipeline", "pipeline/modelfile",
		"gridsearch",
		"transformer", "estimator", "estimator/meta", "metrics", "datasets", "param", "internal/runtime/journal",
		"internal/learning/metricinput", "internal/learning/searchloop", "internal/kern", "internal/solve",
		"internal/learning/stacking"},

	// Model inspection: relevance of inputs, profiles of rows.
	"internal/rows/origin": {"datasets"}, // columns encoded from one column
	// Shapley values of graphs and functions
	"inspection/internal/shapley": {"graph", "internal/codec/ops", "internal/kern", "internal/runtime/memory"},
	"inspection": {"inspection/internal/shapley", "internal/codec/jsonfloat", "internal/rows/origin",
		"internal/runtime/memory", "graph", "internal/learning/metricinput", "estimator", "estimator/cluster",
		"estimator/meta", "pipeline", "internal/learning/preprocessing", "metrics", "datasets", "matrices", "internal/codec/svg"},
	"internal/rows/profile": {"datasets", "datasets/pass", "matrices", "model", "internal/kern",
		"internal/features/murmur"},

	"internal/codec/jsonfloat": {}, // JSON with null for NaN and infinite numbers

	// HTML reports of runs and comparisons.
	"experiment/report": {"experiment/result", "metrics/compare", "inspection", "internal/rows/profile", "metrics",
		"internal/codec/svg", "internal/codec/archive", "internal/codec/jsonfloat"},

	// Experiments: the configuration, its data, the validation of both, the outputs; package experiment above them.
	"experiment/result": {"inspection", "internal/rows/profile", "metrics/compare"},
	"experiment/internal/config": {"kernel", "internal/codec/yamlnode", "internal/rows/reader",
		"pipeline", "pipeline/yaml", "gridsearch", "estimator", "estimator/meta",
		"metrics", "datasets", "param", "internal/learning/conformal", "internal/learning/metricinput",
		"internal/spec/paramkind"},
	"experiment/internal/dataload": {"internal/features/pairwise", "experiment/internal/config",
		"internal/runtime/files", "datasets", "datasets/...", "param", "internal/runtime/memory",
		"internal/rows/rowfile", "internal/rows/reader"},
	"experiment/internal/validate": {"internal/rows/reader", "experiment/internal/config", "internal/runtime/files",
		"experiment/internal/dataload", "pipeline", "gridsearch", "metrics", "datasets", "datasets/builtin", "param"},
	"experiment/internal/predictions": {"internal/runtime/files", "pipeline", "estimator", "metrics",
		"internal/learning/metricinput", "datasets"},
	"experiment/internal/diagnostics": {"experiment/result", "transformer", "estimator", "estimator/meta", "pipeline",
		"metrics", "datasets", "matrices"},
	"experiment/internal/scaffold": {"internal/codec/yamlnode", "internal/learning/preprocessing", "pipeline",
		"internal/rows/reader", "experiment/internal/config", "experiment/internal/dataload",
		"internal/learning/metricinput", "internal/features/textfeatures", "datasets",
		"datasets/csv", "matrices", "param", "internal/rows/rowfile"},
	"experiment": {"internal/codec/archive", "model", "internal/codec/jsonfloat", "internal/rows/reader",
		"internal/runtime/files", "auto", "experiment/result",
		"experiment/internal/...", "experiment/report", "inspection", "metrics/compare", "pipeline",
		"pipeline/modelfile", "pipeline/yaml", "gridsearch", "estimator", "estimator/meta", "metrics", "datasets",
		"datasets/builtin", "internal/rows/profile", "param", "internal/learning/conformal", "internal/runtime/memory",
		"graph", "graph/onnx", "graph/golang", "graph/python", "internal/learning/metricinput", "internal/rows/rowfile",
		"matrices"},
	"experiment/shardfit": {"experiment/result", "internal/codec/archive", "datasets/pass", "internal/rows/reader", "internal/runtime/files",
		"experiment", "gridsearch", "experiment/internal/...",
		"pipeline", "pipeline/modelfile", "datasets", "internal/rows/profile", "model", "param"},
	// Rows of named values and their errors.
	"internal/rows/rowencoding": {"datasets", "internal/rows/rowerrors", "internal/rows/structrows"},
	"internal/rows/rowerrors":   {"datasets", "internal/codec/jsonscan"},

	// Models that answer requests.
	"serve": {"inspection", "internal/runtime/files", "pipeline", "pipeline/modelfile", "estimator", "datasets",
		"model", "internal/codec/yamlnode", "internal/rows/reader", "param", "internal/codec/jsonscan", "internal/rows/rowencoding",
		"internal/rows/rowerrors", "internal/runtime/cputime", "internal/rows/protocol", "internal/runtime/queue"},
	// of requests by any protocol: codes of errors, tensors
	"internal/rows/protocol": {"internal/rows/rowerrors"},
	"internal/runtime/queue": {},

	"serve/ui": {"inspection", "internal/rows/origin", "serve", "internal/rows/protocol", "estimator", "datasets",
		"internal/learning/conformal", "internal/rows/profile", "internal/rows/rowencoding"},

	"experiment/command": {"internal/codec/jsonfloat", "internal/rows/rowfile", "experiment/internal/scaffold", "param",
		"datasets/builtin", "internal/rows/reader", "internal/runtime/files", "serve", "serve/ui",
		"internal/runtime/store", "experiment", "experiment/internal/config", "experiment/shardfit",
		"experiment/result", "experiment/report", "internal/rows/profile", "graph", "internal/runtime/memory",
		"inspection"},
	"cmd/bochner": {"experiment/command"},

	// The entry point, at the root of the module.
	".": {"internal/learning/preprocessing", "internal/rows/reader", "gridsearch", "pipeline", "pipeline/modelfile",
		"estimator", "metrics", "internal/learning/metricinput", "datasets", "internal/rows/profile",
		"internal/runtime/files"},

	// Runs the benchmarks and the baselines as programs.
	"bench/internal/tree": {}, // the files of a commit
	"bench/internal/page": {}, // places of tables on a page
	"bench/compare":       {"bench/internal/page", "bench/internal/tree"},

	// Measures one model and a baseline.
	"bench/draws": {"kernel", "transformer", "datasets", "datasets/builtin", "internal/codec/svg"},
	"bench/stream": {"internal/kern", "kernel", "pipeline", "transformer", "estimator", "datasets",
		"internal/codec/svg"},
	"bench/serve":       {"pipeline", "pipeline/modelfile", "transformer", "estimator", "datasets"},
	"bench/portfolio":   {"auto", "metrics"}, // from the files of runs
	"bench/columns":     {"datasets", "datasets/arrow", "datasets/csv", "datasets/parquet"},
	"bench/kernelsvm":   {"estimator", "gridsearch", "internal/runtime/cputime", "kernel", "datasets", "metrics"},
	"bench/kernelridge": {"estimator", "kernel", "datasets", "metrics"},

	"bench/peers": {"bench/internal/page", "datasets", "datasets/arff", "datasets/csv", "estimator", "metrics",
		"pipeline", "pipeline/yaml"},

	// Writes small models of every step in every export format, for check.sh.
	"graph/check": {"graph", "graph/onnx", "graph/golang", "graph/python", "pipeline", "pipeline/yaml",
		"pipeline/modelfile", "estimator", "datasets"},

	// Its tests fit every estimator by every method.
	"internal/testing/metamorphic": {},

	// Runs experiments with two builds of the command.
	"bench/unchanged": {"bench/internal/tree"},

	// A release check: files of earlier versions.
	"bench/versions": {},
}

// Outside lists, for restricted packages of other modules, the packages that may import them.
var Outside = map[string][]string{
	"gopkg.in/yaml.v3": {"internal/codec/yamlnode", "pipeline/yaml", "experiment",
		"experiment/internal/config"},
	"github.com/sjwhitworth/golearn/base": {"golearn"},
}

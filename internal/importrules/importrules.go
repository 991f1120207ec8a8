// Package importrules lists the allowed imports of each package, and tests that the code has no
// others. Add a new import here, in the change that needs it.
package importrules

// Module is the module's path.
const Module = "github.com/bochner-ml/bochner"

// Everywhere lists the packages that every package of the module may import.
var Everywhere = []string{"internal/ctxerr", "internal/guard", "internal/rowblock", "internal/rowsource",
	"internal/specs", "internal/suggest", "internal/textrows"}

// Allowed lists the module packages that each non-test package may import. A listed directory
// allows all packages below it, except that "datasets" allows datasets/csv only to packages that
// list it, or a directory above it with a trailing "/...".
var Allowed = map[string][]string{
	"sparse":       {},
	"single":       {},
	"param":        {"internal/paramkind"},
	"kernel":       {"param", "internal/kern"},
	"graph":        {"internal/ops"}, // what a fitted pipeline computes, for other programs
	"graph/onnx":   {"graph", "internal/ops"},
	"graph/golang": {"graph", "internal/ops"},
	"graph/python": {"graph", "internal/ops"},
	// tests of one model against another
	"compare": {},
	// for the tasks; distances of rows
	"metrics": {"datasets", "param", "sparse", "internal/svg", "internal/design", "internal/kern", "internal/pairwise"},
	// names of operations
	"internal/ops":          {},
	"internal/kern":         {},
	"internal/solve":        {"internal/kern", "model", "sparse"},
	"internal/golden":       {},
	"internal/ctxerr":       {},
	"internal/guard":        {},
	"internal/canceltest":   {"internal/exhaustive"},
	"internal/snapshot":     {}, // for tests: whether a value has changed
	"internal/postgrestest": {}, // a server for tests
	"internal/importrules":  {},
	"internal/rowblock":     {"single", "sparse", "internal/textrows"}, // slices of rows; sizes of blocks
	"internal/rowsource":    {"datasets"},                              // sources derived from sources
	"internal/suggest":      {},                                        // names in messages
	"internal/specs":        {"param"},                                 // specs beyond what param offers to authors
	"internal/paramkind":    {},                                        // names of kinds of parameters
	"internal/rowfile":      {"datasets", "internal/files"},            // files of rows: listed, regular, unchanged
	"internal/exhaustive":   {},                                        // for tests: which cases are taken
	"internal/murmur":       {},                                        // hashes of strings
	"internal/files":        {},                                        // written in full or not at all
	// documents to weighted term counts
	"internal/textfeatures": {"internal/kern", "internal/memory", "internal/murmur", "model", "sparse"},
	"internal/textrows":     {}, // rows with text columns
	"internal/svg":          {},
	"internal/jsonscan":     {}, // JSON, with the place of what is wrong
	"internal/memory":       {},
	"internal/cputime":      {}, // the clock of benchmarks
	"internal/journal":      {"datasets", "param"},
	// residuals of rows that a model had not seen to intervals
	"internal/conformal":   {},
	"internal/calibration": {"graph", "internal/monotone", "model"}, // scores of a classifier to probabilities
	"internal/threshold":   {},                                      // where to cut the scores of two classes
	"datasets/pass":        {"datasets", "model", "param"},
	// the steps that packages declare
	"internal/registry": {"model"},

	"internal/distributed":        {"datasets", "model"}, // one fit of many workers: sums in a fixed order
	"distributed/store":           {"internal/files"},    // files by path or URL
	"distributed/store/storetest": {"distributed/store"},

	// Cloud stores; only the command imports their modules.
	"distributed/store/bucket": {"distributed/store"},
	"distributed/store/s3":     {"distributed/store/bucket"},
	"distributed/store/gs":     {"distributed/store/bucket"},

	// Conformance checks of passes.
	"internal/passtest": {"datasets", "model", "internal/canceltest"},

	"internal/structrows": {}, // rows of structs as named values
	"datasets":            {"sparse", "single", "model", "internal/structrows"},
	"model":               {"internal/conformal", "internal/files", "sparse"},

	// Leaf packages, one for each outside format or origin of data.
	"datasets/csv":      {"datasets", "datasets/internal/..."},
	"datasets/svmlight": {"datasets", "datasets/internal/...", "internal/memory", "sparse"},
	"datasets/sql":      {"datasets", "datasets/internal/..."},
	"datasets/jsonl":    {"datasets", "datasets/internal/...", "internal/jsonscan"},
	"datasets/arff":     {"datasets", "datasets/internal/...", "sparse"},
	"datasets/npy":      {"datasets", "datasets/internal/..."},
	"datasets/parquet":  {"internal/formats", "datasets", "datasets/internal/..."},
	"datasets/arrow":    {"internal/formats", "datasets", "datasets/internal/..."},
	"internal/reader": {"internal/rowfile", "datasets", "internal/formats", "datasets/arff", "datasets/csv",
		"datasets/jsonl", "datasets/npy", "datasets/svmlight", "internal/files", "param"},
	"datasets/builtin":   {"datasets", "datasets/csv", "datasets/arff"},
	"datasets/synthetic": {"datasets"},

	// The adapter for golearn; no other package imports it.
	"plot":    {}, // figures for notebooks
	"golearn": {"datasets", "sparse", "param", "transformer", "estimator", "pipeline", "pipeline/modelfile", "gridsearch"},

	// Shared by the readers.
	"datasets/internal/text":   {"internal/rowfile", "datasets"},
	"datasets/internal/steady": {"internal/rowfile", "datasets"},
	// imported by programs explicitly
	"internal/formats":         {"datasets"},
	"datasets/internal/arrays": {"datasets/internal/table", "internal/memory"}, // by arrow-go
	"datasets/internal/table": {"datasets", "datasets/internal/steady", "datasets/internal/text", "internal/structrows",
		"sparse"},

	// Solvers on rows of any kind. Inputs and outputs are numeric columns.
	"internal/design": {"datasets", "sparse", "single", "internal/kern"},
	"internal/leastsquares": {"internal/design", "internal/kern", "datasets/pass", "internal/solve", "datasets", "sparse",
		"single", "model"},
	"internal/newton": {"internal/design", "internal/leastsquares", "internal/kern", "datasets/pass",
		"internal/solve", "datasets", "sparse", "single", "model"},
	// many candidates on many folds: the contract, and the solvers of package estimator
	"batch": {"datasets", "model", "single"},
	"estimator/internal/joint": {"batch", "model", "single", "internal/kernelridge", "internal/kernelsvm", "internal/smo", "internal/memory",
		"internal/design",
		"internal/leastsquares", "internal/newton", "internal/descent", "internal/kern", "internal/solve", "datasets"},
	"internal/sgd": {"internal/design", "internal/kern", "internal/solve", "internal/spectral", "datasets",
		"sparse", "single", "model"},
	"internal/descent": {"internal/design", "internal/kern", "internal/solve", "datasets", "sparse", "single"},

	"internal/kernelsvm": {"kernel", "datasets", "internal/kernelridge", "internal/smo", "internal/solve",
		"internal/spectral", "internal/pairwise", "internal/memory", "internal/design", "internal/kern"},
	"internal/smo": {"internal/pairwise", "internal/solve", "internal/design", "internal/kern"},

	"internal/kernelridge": {"graph", "kernel", "datasets", "sparse", "internal/landmarks", "internal/pairwise",
		"internal/spectral", "internal/solve", "internal/memory", "internal/design", "internal/kern"},

	// Random features: kernels, samplers and the two maps. Inputs and outputs are numeric columns.
	"internal/spectral": {"datasets", "kernel", "param", "internal/design", "internal/kern", "model", "sparse"},
	"internal/softmax":  {"graph", "internal/spectral", "internal/design", "internal/kern", "internal/memory", "sparse"},
	"internal/fourier":  {"graph", "internal/spectral", "internal/design", "internal/kern", "internal/memory", "sparse"},
	"internal/bins":     {"internal/spectral", "internal/design", "internal/kern", "internal/memory", "sparse"},

	// The kernels themselves, of all pairs of rows.
	"internal/pairwise": {"graph", "kernel", "internal/spectral", "internal/design", "internal/kern", "sparse"},
	"internal/landmarks": {"graph", "internal/pairwise", "internal/spectral", "internal/design", "internal/kern",
		"internal/memory", "sparse"},

	// Learned scales, on the same kind of features.
	"internal/evidence": {"internal/pairwise", "internal/design", "internal/kern", "datasets", "sparse"},
	"internal/sample":   {"internal/design", "internal/spectral", "datasets", "sparse"}, // of rows, with their targets

	// Layers of random features with trained frequencies.
	"internal/network": {"graph", "internal/fourier", "internal/spectral", "internal/design", "internal/solve",
		"internal/kern", "datasets", "sparse"},

	// Maps learned from gradients of kernel machines.
	"internal/agop": {"internal/pairwise", "internal/spectral", "internal/fourier", "internal/kern", "internal/memory"},

	// Peers: no arrow between transformer and estimator, none between pipeline and gridsearch.
	"attention": {"internal/softmax", "internal/design", "internal/kern", "internal/memory"},
	"transformer": {"internal/registry", "internal/origin", "graph", "datasets", "kernel", "sparse", "single",
		"param", "model",
		"internal/spectral",
		"internal/fourier", "internal/softmax", "internal/bins", "internal/evidence", "internal/sample", "internal/agop",
		"internal/design", "internal/kern", "internal/memory", "datasets/pass", "internal/pairwise", "internal/landmarks",
		"internal/murmur", "internal/textfeatures"},
	"estimator": {"internal/registry", "batch", "graph", "internal/sgd", "datasets", "kernel", "internal/network",
		"internal/kernelridge", "internal/kernelsvm", "internal/pairwise", "internal/spectral", "internal/fourier",
		"internal/evidence",
		"internal/sample", "sparse", "single", "param", "model", "internal/design", "internal/leastsquares",
		"internal/newton", "internal/descent", "estimator/internal/joint", "internal/kern", "internal/solve",
		"internal/memory", "datasets/pass", "internal/conformal"},
	"internal/predictorstate": {"estimator", "model"},
	"pipeline": {"internal/registry", "batch", "internal/predictorstate", "graph",
		"pipeline/internal/...", "transformer", "estimator",
		"estimator/meta", "estimator/cluster", "estimator/anomaly", "datasets", "sparse", "param", "model", "internal/svg",
		"internal/memory", "internal/design", "datasets/pass", "kernel"},
	// what is known of rows in addition to predictions
	"internal/metricinput": {"estimator", "metrics", "datasets", "param"},
	"gridsearch": {"batch", "internal/design", "datasets/pass", "model", "internal/metricinput", "estimator",
		"param",
		"metrics", "datasets", "internal/kern", "internal/svg", "internal/memory", "internal/journal"},

	// Meta-estimators and their algorithms: target transforms, calibration, weights. A threshold is
	// selected by a metric.
	"estimator/meta": {"internal/registry", "batch", "internal/predictorstate", "internal/paramkind",
		"graph", "estimator", "datasets",
		"param", "model",
		"internal/design", "internal/monotone", "internal/calibration", "internal/stacking", "internal/conformal",
		"internal/threshold", "metrics"},
	"internal/monotone": {"graph", "model"},
	"internal/stacking": {"internal/solve", "internal/design", "model", "datasets"},

	// Unsupervised models and their solvers: cluster centers, singular vectors, one-class
	// hyperplanes.
	"estimator/cluster": {"internal/registry", "graph", "estimator", "datasets", "datasets/pass", "param",
		"model", "internal/kmeans",
		"internal/singular", "internal/design", "internal/kern", "internal/memory"},
	"estimator/anomaly": {"internal/registry", "graph", "estimator", "datasets", "param", "model",
		"internal/oneclass", "internal/design",
		"internal/kern", "internal/memory"},
	"internal/kmeans": {"graph", "internal/design", "internal/kern", "internal/spectral", "datasets", "datasets/pass",
		"model", "sparse", "single"},
	"internal/singular": {"internal/design", "internal/kern", "internal/spectral", "datasets", "sparse", "single"},
	"internal/oneclass": {"internal/design", "internal/kern", "datasets", "sparse", "single"},

	// Below pipeline: where an error happened, some columns of rows, the rows that a step is fitted to, and
	// the tree of candidates of a search. Above it, documents and files.
	"pipeline/internal/place": {},
	"pipeline/internal/pick":  {"datasets", "sparse"},
	"pipeline/internal/rows": {"pipeline/internal/place", "pipeline/internal/pick", "transformer", "estimator",
		"datasets", "sparse", "single", "internal/design", "internal/kern"},
	"pipeline/internal/samples": {"pipeline", "transformer", "kernel", "datasets"},
	"pipeline/modelfile": {"graph", "pipeline", "pipeline/yaml", "pipeline/internal/pick",
		"estimator", "metrics", "internal/metricinput", "datasets", "internal/profile", "model", "internal/files",
		"internal/rowencoding", "internal/structrows", "internal/svg"},
	"internal/yamlnode": {"param"}, // nodes of YAML documents
	"pipeline/yaml": {"internal/yamlnode", "pipeline", "transformer", "estimator", "estimator/meta", "param",
		"internal/paramkind"},

	// Invariants as conformance suites for any implementation.
	"datasets/sourcetest": {"internal/panictest", "datasets"},
	"internal/panictest":  {},
	"transformer/transformertest": {"internal/panictest", "graph", "transformer", "datasets", "sparse", "single", "param",
		"model",
		"internal/canceltest", "internal/passtest", "internal/snapshot"},
	"estimator/estimatortest": {"internal/panictest", "batch", "graph", "estimator", "datasets", "sparse",
		"param", "model",
		"internal/canceltest", "internal/passtest", "internal/snapshot"},

	"internal/preprocessing": {"pipeline", "transformer", "datasets"}, // steps that make numbers of columns, for proposals

	// Automatic model search.
	"auto": {"kernel", "batch", "internal/memory", "internal/origin", "internal/preprocessing", "pipeline", "gridsearch",
		"transformer", "estimator",
		"estimator/meta", "metrics", "datasets", "param", "internal/journal", "internal/metricinput", "internal/kern",
		"internal/solve", "internal/stacking", "sparse"},

	// Model inspection: relevance of inputs, profiles of rows.
	"internal/origin": {"datasets"}, // columns encoded from one column
	// Shapley values of graphs and functions
	"internal/shapley": {"graph", "internal/ops", "internal/kern", "internal/memory"},
	"inspection": {"internal/shapley", "internal/jsonfloat", "internal/origin", "internal/memory", "graph",
		"internal/metricinput",
		"estimator", "estimator/cluster", "pipeline", "internal/preprocessing", "metrics", "datasets", "sparse", "single",
		"internal/svg"},
	"internal/profile": {"datasets", "datasets/pass", "sparse", "single", "model", "internal/kern", "internal/murmur"},

	// A tracking server over HTTP.
	"internal/mlflow":            {},
	"internal/mlflow/mlflowtest": {},

	"internal/jsonfloat": {}, // JSON with null for NaN and infinite numbers

	// HTML reports of runs and comparisons.
	"report": {"experiment/result", "compare", "inspection", "internal/profile", "metrics", "internal/svg"},

	// Experiments: the configuration, its data, the validation of both, the outputs; package experiment above them.
	"experiment/result": {"inspection", "internal/profile", "compare"},
	"internal/experiment/config": {"internal/yamlnode", "internal/reader", "internal/mlflow",
		"pipeline", "pipeline/yaml", "gridsearch", "estimator", "estimator/meta", "metrics", "datasets", "param",
		"internal/conformal", "internal/metricinput", "internal/paramkind"},
	"internal/experiment/dataload": {"internal/experiment/config", "internal/files", "datasets", "datasets/...",
		"metrics", "param", "internal/memory", "internal/rowfile", "internal/reader"},
	"internal/experiment/validate": {"internal/reader", "internal/experiment/config", "internal/files",
		"internal/experiment/dataload", "pipeline", "gridsearch", "estimator", "metrics", "datasets", "datasets/builtin",
		"param"},
	"internal/experiment/predictions": {"internal/experiment/dataload", "internal/files", "pipeline", "estimator",
		"metrics", "internal/metricinput", "datasets"},
	"internal/experiment/diagnostics": {"experiment/result", "transformer", "estimator", "estimator/meta", "pipeline",
		"metrics", "datasets",
		"sparse"},
	"internal/experiment/scaffold": {"internal/yamlnode", "internal/preprocessing", "pipeline", "internal/reader",
		"internal/experiment/config", "internal/experiment/dataload", "internal/metricinput", "internal/textfeatures",
		"internal/profile", "datasets", "datasets/csv", "sparse", "param", "internal/rowfile"},
	"experiment": {"model", "internal/jsonfloat", "internal/reader", "internal/files", "auto",
		"internal/mlflow", "internal/experiment/config", "internal/experiment/scaffold", "experiment/result",
		"internal/experiment/...", "report", "inspection", "compare", "pipeline", "pipeline/modelfile", "pipeline/yaml",
		"gridsearch", "estimator", "estimator/meta", "metrics", "datasets", "datasets/builtin", "internal/profile", "param",
		"internal/conformal", "internal/memory", "graph", "graph/onnx", "graph/golang", "graph/python", "transformer",
		"internal/metricinput", "internal/rowfile", "sparse"},
	"internal/experiment/shardfit": {"internal/reader", "internal/files", "experiment", "gridsearch",
		"internal/experiment/config", "internal/experiment/...", "internal/distributed", "pipeline", "pipeline/modelfile",
		"estimator", "datasets", "internal/profile", "model", "param"},
	// Rows of named values and their errors.
	"internal/rowencoding": {"datasets", "internal/rowerrors", "internal/structrows", "param"},
	"internal/rowerrors":   {"datasets", "internal/jsonscan"},

	// Models that answer requests.
	// how the rows of a model file are read
	"serve": {"inspection",
		"internal/reader", "internal/files", "pipeline", "pipeline/modelfile", "estimator", "datasets", "model",
		"internal/experiment/config", "internal/jsonscan", "internal/rowencoding", "internal/rowerrors",
		"serve/internal/..."},
	"serve/grpc": {"datasets", "serve", "serve/internal/...", "internal/rowerrors",
		"serve/grpc/internal/inference"},
	"serve/internal/protocol":       {"internal/rowerrors"},
	"serve/internal/queue":          {},
	"serve/grpc/internal/inference": {},

	"serve/ui": {"inspection", "internal/origin",
		"serve", "serve/internal/protocol", "estimator", "datasets", "internal/conformal", "internal/profile",
		"internal/rowencoding"},

	"cmd/bochner": {"internal/jsonfloat", "internal/rowfile", "internal/experiment/scaffold", "param", "datasets/builtin",
		"internal/reader", "internal/files", "serve", "serve/grpc", "serve/ui", "distributed/store/...", "distributed/store",
		"experiment", "internal/experiment/config", "internal/experiment/shardfit", "experiment/result", "internal/profile",
		"model", "graph", "internal/memory", "inspection"},

	// The entry point, at the root of the module.
	".": {"internal/preprocessing", "internal/reader", "gridsearch", "pipeline", "pipeline/modelfile", "transformer",
		"estimator", "metrics", "internal/metricinput", "datasets", "internal/profile"},

	// Runs the benchmarks and the baselines as programs.
	"bench/internal/tree": {}, // the files of a commit
	"bench/internal/page": {}, // places of tables on a page
	"bench/compare":       {"bench/internal/page", "bench/internal/tree"},

	// Measures one model and a baseline.
	"bench/draws":       {"kernel", "transformer", "datasets", "datasets/builtin", "internal/svg"},
	"bench/stream":      {"internal/kern", "kernel", "pipeline", "transformer", "estimator", "datasets", "internal/svg"},
	"bench/serve":       {"pipeline", "pipeline/modelfile", "transformer", "estimator", "datasets"},
	"bench/columns":     {"datasets", "datasets/arrow", "datasets/csv", "datasets/parquet"},
	"bench/kernelsvm":   {"estimator", "gridsearch", "internal/cputime", "kernel", "datasets", "metrics"},
	"bench/kernelridge": {"estimator", "kernel", "datasets", "metrics"},

	"bench/peers": {"bench/internal/page", "datasets", "datasets/arff", "datasets/csv", "estimator", "metrics", "pipeline",
		"pipeline/yaml"},

	// Writes small models of every step in every export format, for check.sh.
	"graph/check": {"graph", "graph/onnx", "graph/golang", "graph/python", "pipeline", "pipeline/yaml",
		"pipeline/modelfile", "estimator", "datasets"},

	// Its tests fit every estimator by every method.
	"internal/metamorphic": {},

	// Runs experiments with two builds of the command.
	"bench/unchanged": {"bench/internal/tree"},

	// Release checks: files of earlier versions, licenses of the dependencies of the command.
	"bench/versions":    {},
	"internal/licenses": {},
}

// Outside lists, for restricted packages of other modules, the packages that may import them.
var Outside = map[string][]string{
	"github.com/jackc/pgx/v5/stdlib": {"cmd/bochner"},
	"modernc.org/sqlite":             {"cmd/bochner"},
	"gopkg.in/yaml.v3": {"internal/yamlnode", "pipeline/yaml", "experiment",
		"internal/experiment/config"},
	"gocloud.dev/blob": {"distributed/store/bucket", "distributed/store/s3",
		"distributed/store/gs", "cmd/bochner"},
	"gocloud.dev/blob/s3blob":                                         {"distributed/store/s3"},
	"gocloud.dev/blob/gcsblob":                                        {"distributed/store/gs"},
	"github.com/prometheus/client_golang/prometheus":                  {"serve"},
	"google.golang.org/grpc":                                          {"serve/grpc"},
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp":   {"cmd/bochner"},
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": {"cmd/bochner"},
	"github.com/aws/smithy-go":                                        {"distributed/store/s3"},
}

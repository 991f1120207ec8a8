package importrules

// Files lists the files of packages from the public types down to the details: a file uses only what it and the files
// after it declare.
var Files = map[string][]string{
	"experiment": {
		"auto", "run", "try", "examine", "evaluate", "fit", "plan", "write", "load", "outputs", // runs and their phases
		"compare", "compare_folds", "compare_rows", "compare_runs", "earlier", "export", "spec", // what a run has written
		"plan_time", "final", "search", "identity", "recorded", "track", "model", "experiment", "searching",
		"datasets", "memory", "profile", "traits", "version",
	},
	"experiment/document": {
		"threshold", "reference", "schema", "differences", "encode", "decode", "override", "grid", "check", "task",
		"fitted", "search", "decoder", "tree", "document", "values", "sql", "report", "places", "intervals",
	},
	"experiment/draft":         {"draft", "proposal", "writer", "survey", "opinion", "text", "profile"},
	"experiment/internal/rows": {"split", "rows", "outline", "memory", "look", "files", "errors", "database", "query"},
	"experiment/result":        {"json", "comparison", "check", "result", "findings"},
	"experiment/job":           {"job", "learn", "look", "reading", "search", "options", "state", "pass"},
	"report":                   {"comparison", "report", "sections", "figures", "page", "labels"},
	"internal/svg":             {"bars", "grid", "plot", "svg", "fixed", "facts", "text", "ticks"},
	"serve": {
		"listen", "connection_limit", "certificate", // connections
		"http", "v1", "v2", "body", "call", "infer_json", // requests and answers over HTTP
		"infer", "access_log", "serve", // the server, for all protocols
		"models", "source", "token", "watched_files", "metrics", "limits", // what it holds
		"model", "batch", "prediction", "prediction_json", "outputs", // a model and its predictions
		"row_reader", "inputs", "json", "error", // rows that come in
	},
	"serve/grpc": {"grpc", "methods", "infer", "health", "call", "message"},
	"serve/ui":   {"ui", "page", "result", "effects", "form", "format"},
}

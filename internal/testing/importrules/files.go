package importrules

// Files lists the files of packages from the public types to the details: a file may use only its
// own declarations and those of later files.
var Files = map[string][]string{
	"experiment": {
		// runs and their phases
		"auto", "run", "predict", "invalid_rows", "explain", "search_shard", "diagnostics",
		"evaluate", "fit", "plan", "write", "load", "outputs",
		"compare", "compare_folds", "compare_rows", "compare_runs", "existing_run", "export", "spec", // outputs of runs
		"plan_time", "final_pipeline", "search", "identity", "read_run", "model", "experiment", "progress",
		"memory", "profile", "model_info", "version",
	},
	"experiment/internal/config": {
		"threshold", "reference", "schema", "differences", "encode", "decode", "override", "grid", "check", "task",
		"final_pipeline", "search", "decoder", "tree", "document", "values", "sql", "report", "positions", "intervals",
	},
	"experiment/internal/scaffold": {"draft", "proposal", "order", "target", "writer", "survey",
		"opinion", "text", "profile"},
	"experiment/internal/dataload": {
		"split", "dataload", "gram", "placeholder", "streaming", "inspect_part", "files", "errors", "database", "query",
	},
	"experiment/result": {"comparison", "explanation", "check", "result", "findings"},
	"experiment/shardfit": {
		"shardfit", "fit_pass", "schema_pass", "inputs", "search", "options", "state", "profile_pass",
	},
	"experiment/report":  {"comparison", "write_explanation", "explanation", "report", "sections", "figures", "page", "labels"},
	"internal/codec/svg": {"bars", "grid", "swarm", "plot", "svg", "text_length", "name_value_table", "text", "ticks"},
	"serve": {
		"listen", "certificate", // connections
		"http", "explain", "v1", "v2", "browser_guard", "body", "call", "infer_json", // requests and answers over HTTP
		"infer", "access_log", "serve", // the server, for all protocols
		"models", "source", "token", "watched_files", "metrics", "exposition", "limits", // what it holds
		"model", "reading", "batch", "prediction", "prediction_json", "outputs", // a model and its predictions
		"row_reader", "inputs", "json", "error", // rows that come in
	},
	"serve/ui": {"ui", "page", "result", "effects", "form", "format"},
}

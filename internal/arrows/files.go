package arrows

// Files lists the files of packages from the public types down to the details: a file uses only what it and the files
// after it declare.
var Files = map[string][]string{
	"serve": {
		"listen", "accept", "certificate", // connections
		"http", "v1", "v2", "body", "call", "infer_json", // requests and answers over HTTP
		"infer", "observe", "serve", // the server, for all protocols
		"models", "source", "token", "reread", "metrics", "limits", // what it holds
		"model", "batch", "prediction", "answers", "outputs", // a model and its predictions
		"rows", "inputs", "coding", "tensor", "json", "error", // rows that come in
	},
	"serve/grpc": {"grpc", "methods", "infer", "health", "call", "message"},
	"serve/ui":   {"ui", "page", "result", "moved", "form", "words"},
}

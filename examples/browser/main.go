//go:build js && wasm

// Browser predicts with a model file in a web page, without a server.
//
//	GOOS=js GOARCH=wasm go build -ldflags "-s -w" -o bochner.wasm ./examples/browser
//	cp "$(go env GOROOT)/lib/wasm/wasm_exec.js" .
//
// The page calls bochnerLoad with the bytes of a model file. The result has the names of the columns and
// a function predict, which takes rows as JSON and returns predictions as JSON; see index.html.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"syscall/js"

	_ "github.com/bochner-ml/bochner/estimator/anomaly"
	_ "github.com/bochner-ml/bochner/estimator/cluster"
	_ "github.com/bochner-ml/bochner/estimator/meta"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
)

func main() {
	js.Global().Set("bochnerLoad", js.FuncOf(load))
	select {} // the functions stay callable
}

// load reads a model file from a Uint8Array. Errors are returned as the property error.
func load(_ js.Value, args []js.Value) any {
	content := make([]byte, args[0].Length())
	js.CopyBytesToGo(content, args[0])
	model, err := modelfile.Read(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return failure(err)
	}
	columns := []any{}
	for j := range model.Schema.Columns {
		column := model.Schema.Columns[j]
		categories := []any{}
		for _, name := range column.Categories {
			categories = append(categories, name)
		}
		columns = append(columns, map[string]any{"name": model.Schema.Name(j), "categories": categories})
	}
	return map[string]any{"columns": columns, "predict": js.FuncOf(func(_ js.Value, args []js.Value) any {
		var rows []map[string]any
		if err := json.Unmarshal([]byte(args[0].String()), &rows); err != nil {
			return failure(err)
		}
		answers, err := model.PredictRows(context.Background(), rows)
		if err != nil {
			return failure(err)
		}
		text, err := json.Marshal(answers)
		if err != nil {
			return failure(err)
		}
		return string(text)
	})}
}

func failure(err error) any { return map[string]any{"error": err.Error()} }

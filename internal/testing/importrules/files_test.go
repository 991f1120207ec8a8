package importrules

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files lists the files of packages from the public types to the details: a file may use only its
// own declarations and those of later files.
var files = map[string][]string{
	"experiment": {
		// runs and their phases
		"auto", "run", "left_out", "predict", "invalid_rows", "explain", "search_shard", "diagnostics",
		"evaluate", "fit", "plan", "write", "load", "outputs",
		"compare", "compare_folds", "compare_rows", "compare_runs", "existing_run", "export", "spec", // outputs of runs
		"plan_time", "final_pipeline", "search", "identity", "read_run", "model", "experiment", "progress",
		"memory", "profile", "model_info", "version",
	},
	"experiment/internal/config": {
		"threshold", "reference", "examples", "schema", "differences", "encode", "decode", "override", "grid",
		"check", "task",
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

// maxMethods is the maximum number of methods of a type.
const maxMethods = 25

// TestFilesAreLayers checks that a file of a package in files uses only declarations of its own and
// of later files, and that no type has too many methods.
func TestFilesAreLayers(t *testing.T) {
	for buffer, order := range files {
		fset := token.NewFileSet()
		pkg, uses := checkTypes(t, fset, buffer, order)
		place := func(pos token.Pos) (string, int) {
			name := strings.TrimSuffix(filepath.Base(fset.Position(pos).Filename), ".go")
			return name, slices.Index(order, name)
		}
		for id, object := range uses {
			if object.Pkg() != pkg {
				continue
			}
			from, above := place(id.Pos())
			to, below := place(object.Pos())
			if below < above {
				t.Errorf("%s: %s.go uses %s of %s.go, which is above it", buffer, from, object.Name(), to)
			}
		}
		for _, name := range pkg.Scope().Names() {
			named, is := pkg.Scope().Lookup(name).Type().(*types.Named)
			if is && named.NumMethods() > maxMethods {
				t.Errorf("%s: %s has %d methods, must be at most %d", buffer, name, named.NumMethods(), maxMethods)
			}
		}
	}
}

// checkTypes parses the files of a package, which must match order, and resolves their identifiers.
func checkTypes(t *testing.T, fset *token.FileSet, buffer string, order []string) (*types.Package,
	map[*ast.Ident]types.Object) {
	paths, err := filepath.Glob(filepath.Join("..", "..", "..", buffer, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var parsed []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if name := strings.TrimSuffix(filepath.Base(path), ".go"); !slices.Contains(order, name) {
			t.Errorf("%s: %s.go is not in the order of files", buffer, name)
		}
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	if len(parsed) != len(order) {
		t.Errorf("%s: %d files, %d in the order", buffer, len(parsed), len(order))
	}
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}",
		module+"/"+buffer).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, export, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[path] = export
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := config.Check(module+"/"+buffer, fset, parsed, info)
	if err != nil {
		t.Fatal(err)
	}
	return pkg, info.Uses
}

package importrules

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the module's path.
const module = "github.com/bochner-ml/bochner"

// layers lists the groups from top to bottom. A group is a package and those below it, or only those below it for "/...",
// except that a package belongs to the group with the longest name. Packages import their own group and those of lower
// lines: groups of one line are independent.
var layers = []string{
	"cmd bench graph/check golearn",
	"experiment/command",
	"experiment serve",
	". auto inspection",
	"pipeline/modelfile internal/rows/reader",
	"pipeline/yaml internal/learning/preprocessing",
	"pipeline gridsearch internal/codec/yamlnode",
	"estimator/meta estimator/cluster estimator/anomaly estimator/estimatortest internal/learning/metricinput",
	"internal/learning/predictorstate",
	"transformer estimator metrics",
	"internal/features internal/learning internal/rows/profile internal/spec/registry",
	"datasets/... internal/design batch",
	"internal/rows internal/runtime/journal internal/testing",
	"datasets",
	"model",
	"kernel graph internal/spec/specs",
	"param internal/kern internal/codec internal/rows/rowblock",
	"matrices internal/rows/textrows internal/rows/structrows internal/features/murmur internal/learning/coverage " +
		"internal/runtime internal/spec",
}

// contract lists the public packages of shared types, which packages of internal may import.
var contract = []string{"batch", "datasets", "datasets/pass", "graph", "kernel", "matrices", "model", "param"}

// upward lists the packages of internal that import other public packages: several packages above these share them.
var upward = map[string]string{
	// inputs of metrics from predictions: searches, inspection, experiment, the entry point
	"internal/learning/metricinput": "estimator metrics",
	// fields of type Predictor: pipeline, estimator/meta
	"internal/learning/predictorstate": "estimator",
	// proposed steps: the entry point, experiment, auto, inspection
	"internal/learning/preprocessing": "estimator pipeline transformer",
	// files of any format: the entry point, experiment, serve
	"internal/rows/reader": "datasets/arff datasets/csv datasets/jsonl datasets/npy datasets/svmlight",
}

// outside lists, for restricted packages of other modules, the packages that may import them.
var outside = map[string][]string{
	"gopkg.in/yaml.v3": {"internal/codec/yamlnode", "pipeline/yaml", "experiment",
		"experiment/internal/config"},
	"github.com/sjwhitworth/golearn/base": {"golearn"},
}

// Imports go to lower layers, those of internal to the packages of shared types.
func TestImportsGoDown(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	seen, used := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(path, root, entry)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		relative, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(relative)
		if strings.HasPrefix(pkg, "examples") {
			return nil
		}
		_, own := layerOf(pkg)
		seen[own] = true
		checkImports(t, pkg, path, used)
		checkCauses(t, pkg, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for group := range strings.FieldsSeq(strings.Join(layers, " ")) {
		if !seen[group] {
			t.Errorf("%s is listed and has no package", group)
		}
	}
	for pkg, targets := range upward {
		for target := range strings.FieldsSeq(targets) {
			if !used[pkg+" "+target] {
				t.Errorf("upward: %s does not import %s", pkg, target)
			}
		}
	}
}

// layerOf returns the group of a package and its layer, −1 for a package without a group.
func layerOf(pkg string) (layer int, group string) {
	layer = -1
	for n, line := range layers {
		for name := range strings.FieldsSeq(line) {
			prefix, below := strings.CutSuffix(name, "/...")
			if (!below && pkg == name || strings.HasPrefix(pkg, prefix+"/")) && len(name) > len(group) {
				layer, group = n, name
			}
		}
	}
	return layer, group
}

// goesDown reports whether a package may import another one by the layers.
func goesDown(from, to string) bool {
	layer, group := layerOf(from)
	below, other := layerOf(to)
	return group == other || below > layer
}

func TestGoesDown(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"experiment/report", "metrics/compare", true}, {"estimator", "estimator/internal/solve", true},
		{"datasets/csv", "datasets", true}, {"datasets", "datasets/csv", false}, {"transformer", "estimator", false},
		{"pipeline", "gridsearch", false}, {"estimator", "internal/codec/yamlnode", false}, {"auto", ".", false},
		{"internal/kern", "datasets", false}, {"serve", "experiment", false}, {"estimator", "estimator/meta", false},
	} {
		if got := goesDown(c.from, c.to); got != c.want {
			t.Errorf("from %s to %s: %v", c.from, c.to, got)
		}
	}
}

// skip excludes hidden directories, test data, generators and separate modules.
func skip(path, root string, entry fs.DirEntry) error {
	if path == root {
		return nil
	}
	name := entry.Name()
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "runs" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// checkImports checks the imports of a file, and adds those of upward to used.
func checkImports(t *testing.T, pkg, path string, used map[string]bool) {
	if layer, _ := layerOf(pkg); layer < 0 {
		t.Errorf("%s: package %s has no layer", path, pkg)
		return
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	helper := strings.HasPrefix(pkg, "internal/testing/") || strings.HasSuffix(pkg, "test")
	for _, spec := range file.Imports {
		target, _ := strconv.Unquote(spec.Path.Value)
		if importers, restricted := outside[target]; restricted && !slices.Contains(importers, pkg) {
			t.Errorf("%s: %s is not for %s", path, target, pkg)
		}
		target, ours := strings.CutPrefix(target+"/", module+"/")
		if target = strings.TrimSuffix(target, "/"); !ours {
			continue
		}
		if target == "" {
			target = "."
		}
		if !goesDown(pkg, target) {
			t.Errorf("%s: %s is not below %s", path, target, pkg)
		}
		if strings.HasPrefix(target, "internal/testing/") && !helper {
			t.Errorf("%s: %s is for tests", path, target)
		}
		if strings.HasPrefix(pkg, "internal/") && !strings.HasPrefix(target, "internal/") &&
			!slices.Contains(contract, target) {
			used[pkg+" "+target] = true
			if !slices.Contains(strings.Fields(upward[pkg]), target) {
				t.Errorf("%s: internal must not import %s", path, target)
			}
		}
	}
}

// checkCauses reports context errors that are not obtained from cause.Err, except in comparisons.
func checkCauses(t *testing.T, pkg, path string) {
	if pkg == "internal/runtime/ctxerr" || pkg == "internal/testing/canceltest" || strings.HasPrefix(pkg, "bench") {
		return
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range bareErr.FindAllString(string(text), -1) {
		t.Errorf("%s: %s: must be ctxerr.Check(ctx), which has the cause", path, strings.TrimSpace(line))
	}
}

// bareErr matches a context error that is returned or assigned without wrapping.
var bareErr = regexp.MustCompile(`(?m)(return |= |Or\()(.*, )?(\w+\.)*(ctx|parent|Context\(\))\.Err\(\)([,;)]|$| //)`)

// maxInternalLines is the maximum number of lines of internal without tests and generators. A package with one owner
// stands in the owner's internal folder.
const maxInternalLines = 30000

func TestInternalIsSmall(t *testing.T) {
	root, lines := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(path, root, entry)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		lines += strings.Count(string(text), "\n")
		return err
	})
	if err != nil || lines < 10000 || lines > maxInternalLines {
		t.Errorf("internal has %d lines (%v), must have at most %d", lines, err, maxInternalLines)
	}
}

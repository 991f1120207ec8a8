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

// maxMethods is the maximum number of methods of a type.
const maxMethods = 25

// TestFilesAreLayers checks that a file of a package in Files uses only declarations of its own and
// of later files, and that no type has too many methods.
func TestFilesAreLayers(t *testing.T) {
	for buffer, order := range Files {
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
	var files []*ast.File
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
		files = append(files, file)
	}
	if len(files) != len(order) {
		t.Errorf("%s: %d files, %d in the order", buffer, len(files), len(order))
	}
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}",
		Module+"/"+buffer).Output()
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
	pkg, err := config.Check(Module+"/"+buffer, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	return pkg, info.Uses
}

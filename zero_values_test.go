package bochner_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/gridsearch"
	"github.com/bochner-ml/bochner/pipeline"
	"github.com/bochner-ml/bochner/transformer"
)

// The documentation of every spec and of every type of options describes its zero value: it has the defaults,
// or it is invalid and a constructor must be used. The fit of an invalid spec is an error that names the constructor.
func TestZeroValuesOfSpecs(t *testing.T) {
	set := datasets.Set{X: mat.NewDense(40, 3, nil), Y: make([]float64, 40)}
	for i := range 40 {
		set.Y[i] = float64(i % 2)
		for j := range 3 {
			set.X.(*mat.Dense).Set(i, j, float64((i*7+j*13)%11)/11+0.1)
		}
	}
	specs := map[string]any{"pipeline.Pipeline": pipeline.Pipeline{}, "gridsearch.Search": gridsearch.Search{},
		"gridsearch.Halving": gridsearch.Halving{}, "gridsearch.Coordinate": gridsearch.Coordinate{}}
	for _, e := range pipeline.Registered() {
		typ := reflect.TypeOf(e.New())
		dir := strings.TrimPrefix(typ.PkgPath(), "github.com/bochner-ml/bochner/")
		specs[dir+"."+typ.Name()] = reflect.Zero(typ).Interface()
	}
	declared := exportedStructs(t)
	for name, zero := range specs {
		var err error
		switch s := zero.(type) {
		case estimator.Estimator:
			_, err = s.Fit(context.Background(), set)
		case transformer.Fitter:
			_, err = s.Fit(context.Background(), set)
		case gridsearch.Strategy:
			search := gridsearch.NewSearch(estimator.NewRidge(), gridsearch.Axis{Path: "alpha", Values: []any{1.0}})
			search.Strategy = s
			_, err = search.Run(context.Background(), set)
		}
		d, base := declared[name], strings.TrimPrefix(path.Ext(name), ".")
		constructor, invalid := "New"+base+"(", "Use [New"+base+"]: the zero value is invalid."
		if name == "pipeline.Pipeline" {
			constructor, invalid = "Steps().Then(", "Use [Steps] and [Sequence.Then]: the zero value is invalid."
		}
		switch {
		case err == nil && !strings.Contains(d.doc, "The zero value "):
			t.Errorf("%s: the zero value can be fitted, and the documentation does not mention it", name)
		case err == nil:
		case !strings.Contains(err.Error(), "(start from "+constructor):
			t.Errorf("%s: the error of the zero value must name %s…): %v", name, constructor, err)
		case !strings.Contains(d.doc, invalid):
			t.Errorf("%s: the documentation must contain %q", name, invalid)
		}
	}
	// Not registered: parts of other specs.
	others := []string{"pipeline.Group", "pipeline.Entry", "estimator/meta.Members"}
	describes := regexp.MustCompile(`\b[Zz]ero (value|field)s?\b|Use \[New\w+\]`)
	for name, d := range declared {
		if _, registered := specs[name]; d.spec && !registered && !slices.Contains(others, name) {
			t.Errorf("%s is a spec that this test does not fit", name)
		}
		if strings.HasSuffix(name, "Options") && !describes.MatchString(d.doc) {
			t.Errorf("%s: the documentation must describe the zero value", name)
		}
	}
}

type structDecl struct {
	doc  string
	spec bool // declares parameters
}

// exportedStructs returns the exported structs of all public packages.
func exportedStructs(t *testing.T) map[string]structDecl {
	out := map[string]structDecl{}
	skip := []string{"internal", "testdata", "bench", "cmd", "distributed", "docs", "examples", ".git"}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains(skip, entry.Name()):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			addStruct(out, filepath.ToSlash(filepath.Dir(file)), decl)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// addStruct adds a declaration of an exported struct or of its method Params.
func addStruct(out map[string]structDecl, dir string, decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.GenDecl:
		for _, s := range d.Specs {
			spec, ok := s.(*ast.TypeSpec)
			if !ok || !spec.Name.IsExported() {
				continue
			}
			if _, ok := spec.Type.(*ast.StructType); ok {
				of := out[dir+"."+spec.Name.Name]
				of.doc = strings.ReplaceAll(d.Doc.Text()+spec.Doc.Text(), "\n", " ")
				out[dir+"."+spec.Name.Name] = of
			}
		}
	case *ast.FuncDecl:
		if d.Recv == nil || d.Name.Name != "Params" {
			return
		}
		receiver := d.Recv.List[0].Type
		if pointer, ok := receiver.(*ast.StarExpr); ok {
			receiver = pointer.X
		}
		if name, ok := receiver.(*ast.Ident); ok && name.IsExported() {
			of := out[dir+"."+name.Name]
			of.spec = true
			out[dir+"."+name.Name] = of
		}
	}
}

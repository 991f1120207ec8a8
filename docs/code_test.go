package docs_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goBlock is a block of Go code, what precedes it, and the parameters that its comment declares:
// <!-- with ctx context.Context -->
var goBlock = regexp.MustCompile("(?s)(<!-- [^\n]* -->\n)?```go\n(.*?)```")

// TestGoBlocks checks the types of all Go code of the pages but quotes, which their files compile:
// programs, declarations, and statements, which are wrapped in a function. Imports are added.
func TestGoBlocks(t *testing.T) {
	files, byName := exports(t)
	fset := token.NewFileSet()
	imported := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
	blocks := 0
	for page, text := range pages(t) {
		if !strings.HasPrefix(page, "docs/") {
			continue
		}
		for _, m := range goBlock.FindAllStringSubmatch(text, -1) {
			with, isWith := strings.CutPrefix(strings.TrimSuffix(m[1], " -->\n"), "<!-- with ")
			if m[1] != "" && !isWith { // a quote, or code of another module
				continue
			}
			blocks++
			file, err := parser.ParseFile(fset, page, "package p\n"+completed(m[2], with), parser.SkipObjectResolution)
			if err != nil {
				t.Errorf("%s: %v in\n%s", page, err, m[2])
				continue
			}
			used := map[string]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok {
						used[x.Name] = true
					}
				}
				return true
			})
			var imports strings.Builder
			for name := range used {
				if path := byName[name]; path != "" && !strings.Contains(m[2], "import (") {
					fmt.Fprintf(&imports, "import %q\n", path)
				}
			}
			code := "package p\n" + imports.String() + completed(m[2], with)
			if strings.HasPrefix(m[2], "package ") {
				code = m[2]
			}
			if file, err = parser.ParseFile(fset, page, code, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", page, err)
				continue
			}
			config := types.Config{Importer: imported, Error: func(err error) {
				var e types.Error
				if errors.As(err, &e) && !e.Soft { // a variable that a fragment does not use is a soft error
					t.Errorf("%s, Go block %q…: %s", page, m[2][:min(40, len(m[2]))], e.Msg)
				}
			}}
			config.Check("p", fset, []*ast.File{file}, nil)
		}
	}
	if blocks < 7 {
		t.Errorf("only %d blocks found: the pattern is wrong", blocks)
	}
}

// completed wraps statements in a function with the given parameters.
func completed(code, with string) string {
	if regexp.MustCompile(`^(//[^\n]*\n)*(package|import|type|func|var|const) `).MatchString(code) {
		return strings.TrimPrefix(code, "package main\n")
	}
	return "func check(error)\nfunc _(" + with + ") {\n" + code + "}\n"
}

// exports returns the file of export data of each package, and the path of each package name, for
// packages of this module first.
func exports(t *testing.T) (files, byName map[string]string) {
	t.Helper()
	c := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Name}} {{.Export}}", ".", "./auto",
		"./gridsearch", "./inspection/...", "./experiment/...", "./serve/...", "./graph/...", "./pipeline/...",
		"./metrics/...", "./estimator/...", "./datasets/...")
	c.Dir = ".."
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	files, byName = map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		files[f[0]] = f[2]
		old, ours := byName[f[1]], strings.HasPrefix(f[0], "github.com/bochner-ml/bochner")
		if strings.Contains(f[0], "internal/") || f[1] == "main" {
			continue
		}
		if old == "" || ours && !strings.HasPrefix(old, "github.com/bochner-ml/bochner") {
			byName[f[1]] = f[0]
		}
	}
	return files, byName
}

var (
	span       = regexp.MustCompile("`([^`\n]+)`")
	fencedCode = regexp.MustCompile("(?s)\n```.*?\n```")
	qualified  = regexp.MustCompile(`(?:^|[^.\w])([a-zA-Z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)
)

// foreign are packages, types and names of other libraries that pages mention.
var foreign = []string{"shap", "base", "TunedThresholdClassifierCV", "CalibratedClassifierCV", "LogisticRegression",
	"GridSearchCV", "onnxruntime", "inference", "grpc", "http", "mat", "time", "v1", "df", "sql.Null", "sql.Rows"}

// TestIdentifiers checks that Go identifiers in the prose of the pages exist: pkg.Name, pkg.Type.Member,
// Type.Member and variable.Member.
func TestIdentifiers(t *testing.T) {
	names := declared(t)
	found := 0
	for page, text := range pages(t) {
		if !strings.HasPrefix(page, "docs/") || page == "docs/reference.md" {
			continue
		}
		for _, s := range span.FindAllStringSubmatch(fencedCode.ReplaceAllString(text, ""), -1) {
			for _, m := range qualified.FindAllStringSubmatch(s[1], -1) {
				name := strings.TrimSuffix(strings.Join(m[1:], "."), ".")
				if slices.Contains(foreign, m[1]) || slices.Contains(foreign, name) {
					continue
				}
				found++
				if !names[name] && (names[m[1]] || !names["."+m[2]]) { // else a member of a variable
					t.Errorf("%s: `%s` names %s, which does not exist", page, s[1], name)
				}
			}
		}
	}
	if found < 60 {
		t.Errorf("only %d identifiers found: the pattern is wrong", found)
	}
}

// declared returns the exported declarations of all modules of the checkout: names of packages and
// types, pkg.Name, pkg.Type.Member, Type.Member and .Member.
func declared(t *testing.T) map[string]bool {
	t.Helper()
	names, dirs := map[string]bool{}, []string(nil)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			if d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "runs" {
				return filepath.SkipDir
			}
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			declare(names, parsed)
		}
	}
	return names
}

// declare adds the declarations of a file.
func declare(names map[string]bool, file *ast.File) {
	names[file.Name.Name] = file.Name.Name != "main"
	member := func(typ, name string) {
		for _, prefix := range []string{file.Name.Name + "." + typ, typ, ""} {
			names[prefix+"."+name] = true
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[file.Name.Name+"."+d.Name.Name] = true
				continue
			}
			typ := d.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			if index, ok := typ.(*ast.IndexExpr); ok {
				typ = index.X
			}
			if name, ok := typ.(*ast.Ident); ok {
				member(name.Name, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[file.Name.Name+"."+n.Name] = true
					}
				case *ast.TypeSpec:
					names[file.Name.Name+"."+s.Name.Name], names[s.Name.Name] = true, s.Name.IsExported()
					var fields *ast.FieldList
					switch typ := s.Type.(type) {
					case *ast.StructType:
						fields = typ.Fields
					case *ast.InterfaceType:
						fields = typ.Methods
					default:
						continue
					}
					for _, f := range fields.List {
						for _, n := range f.Names {
							member(s.Name.Name, n.Name)
						}
					}
				}
			}
		}
	}
}

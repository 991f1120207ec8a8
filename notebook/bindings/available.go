package bindings

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"github.com/cosmos72/gomacro/ast2"
	"github.com/cosmos72/gomacro/fast"
	"github.com/cosmos72/gomacro/imports"
)

// reasons maps unavailable packages to the reason and an alternative.
var reasons = map[string]string{
	"slices": "the interpreter cannot call generic functions; use sort",
	"maps":   "the interpreter cannot call generic functions; use range",
	"cmp":    "the interpreter cannot call generic functions; use <",
	"gonum.org/v1/plot": "this kernel does not contain it; use " +
		"github.com/bochner-ml/bochner/inspection/plot",
}

// CheckImports returns the nodes of a cell after importing its packages. It panics with an error
// that names the packages which the interpreter does not have. The interpreter itself would compile
// a plugin from their source, which fails, because the kernel has no cgo.
func CheckImports(interp *fast.Interp, nodes []ast.Node) []ast.Node {
	var had []ast.Spec
	var missing []string
	for _, n := range nodes {
		decl, ok := n.(*ast.GenDecl)
		if !ok || decl.Tok != token.IMPORT {
			continue
		}
		for _, s := range decl.Specs {
			path, _ := strconv.Unquote(s.(*ast.ImportSpec).Path.Value)
			if _, found := imports.Packages[path]; found {
				had = append(had, s)
			} else {
				missing = append(missing, path)
			}
		}
	}
	if len(missing) == 0 {
		return nodes
	}
	if len(had) > 0 {
		interp.RunExpr(interp.CompileAst(ast2.AnyToAst(&ast.GenDecl{Tok: token.IMPORT, Lparen: 1, Specs: had}, "import")))
	}
	panic(errMissing(missing))
}

func errMissing(paths []string) error {
	lines := make([]string, len(paths))
	for i, path := range paths {
		reason := "this kernel does not contain it; leave it out"
		for prefix, r := range reasons {
			if path == prefix || strings.HasPrefix(path, prefix+"/") {
				reason = r
			}
		}
		lines[i] = fmt.Sprintf("cannot import %q: %s, or use the kernel GoNB", path, reason)
	}
	return errors.New(strings.Join(lines, "\n"))
}

package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// addition is a file added to the source of the kernel; repairs call its declarations.
//
//go:embed addition.go.txt
var addition string

// repair is a change of the kernel's source.
type repair struct{ file, from, to string }

var repairs = []repair{
	// The kernel must inspect the value if the type of an expression is an interface; otherwise a
	// model returned by Fit, an estimator.Predictor, would not be displayed.
	{"display.go", "if kernel == nil || typ == nil {\n\t\t// try all",
		"if kernel == nil || typ == nil || typ.Kind() == reflect.Interface {\n\t\t// try all"},
	// Let show.Value display immediately, not only as the last value of a cell.
	{"kernel.go", "displayPlace.Set(xreflect.ValueOf(receipt.PublishDisplayData))",
		"displayPlace.Set(xreflect.ValueOf(receipt.PublishDisplayData))\n\tbindings.Show = kernel.showIn(receipt)"},
	// Remove GoNB directives.
	{"kernel.go", "code = evalSpecialCommands(ir, outerr, code)",
		"code = evalSpecialCommands(ir, outerr, withoutGoNB(code))"},
	// Reject unavailable packages before the cell is compiled.
	{"kernel.go", "nodes := compiler.ParseBytes([]byte(code))",
		"nodes := bindings.CheckImports(ir, compiler.ParseBytes([]byte(code)))"},
	// An interrupted cell ends, the kernel lives on.
	{"kernel.go", "ir := interp.New()", "ir := interp.New()\n\tinterruptible(ir)"},
	// Do not display the results of fmt.Println, a count and a nil error.
	{"kernel.go", "\t\tif nonNilCount > 0 {", "\t\tif nonNilCount > 0 && !printed(values, types) {"},
	{"kernel.go", "\t\"github.com/cosmos72/gomacro/base\"\n",
		"\t\"github.com/bochner-ml/bochner/notebook/bindings\"\n\t\"github.com/cosmos72/gomacro/base\"\n"},
}

func (r repair) apply(folder string) error {
	file := filepath.Join(folder, r.file)
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), r.from); n != 1 {
		return fmt.Errorf("%s is not the file that is to be repaired: it has %q %d times", r.file, r.from, n)
	}
	return os.WriteFile(file, []byte(strings.Replace(string(text), r.from, r.to, 1)), 0o644)
}

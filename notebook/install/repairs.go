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
	// show.Value shows at once, not only as the last value of a cell.
	{"kernel.go", "displayPlace.Set(xreflect.ValueOf(receipt.PublishDisplayData))",
		"displayPlace.Set(xreflect.ValueOf(receipt.PublishDisplayData))\n\tbindings.Show = kernel.showIn(receipt)"},
	// What is meant for GoNB is left out.
	{"kernel.go", "code = evalSpecialCommands(ir, outerr, code)",
		"code = evalSpecialCommands(ir, outerr, withoutGoNB(code))"},
	// A package that is not inside is refused at once.
	{"kernel.go", "nodes := compiler.ParseBytes([]byte(code))",
		"nodes := bindings.CheckImports(ir, compiler.ParseBytes([]byte(code)))"},
	// An interrupted cell ends, the kernel lives on.
	{"kernel.go", "ir := interp.New()", "ir := interp.New()\n\tinterruptible(ir)"},
	// What fmt.Println returns, a count and no error, is no result of a cell.
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

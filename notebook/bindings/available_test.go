package bindings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cosmos72/gomacro/ast2"
	"github.com/cosmos72/gomacro/fast"

	"github.com/bochner-ml/bochner/notebook/bindings"
)

// run evaluates a cell as the kernel does.
func run(interp *fast.Interp, cell string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	nodes := bindings.CheckImports(interp, interp.Comp.ParseBytes([]byte(cell)))
	interp.RunExpr(interp.CompileAst(ast2.AnyToAst(nodes, "run")))
	return nil
}

// TestCheckImports checks that one error names all packages unavailable in the kernel, and that the
// other packages of the cell are imported.
func TestCheckImports(t *testing.T) {
	interp := fast.New()
	start := time.Now()
	err := run(interp, "import (\n\t\"slices\"\n\t\"sort\"\n\t\"maps\"\n\t\"cmp\"\n\tp "+
		"\"gonum.org/v1/plot/plotter\"\n\ttext \"strings\"\n\t\"example.com/none\"\n)\nsort.Ints([]int{2, 1})")
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it takes %v", took)
	}
	for _, want := range []string{
		`cannot import "slices": the interpreter cannot call generic functions; use sort, or use the kernel GoNB`, `"maps"`, `"cmp"`, `"gonum.org/v1/plot/plotter"`, "bochner/inspection/plot",
		`cannot import "example.com/none": this kernel does not contain it; leave it out, or use the kernel GoNB`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, wanted %s", err, want)
		}
	}
	if err := run(interp, "x := []int{3, 1}\nsort.Ints(x)\nif x[0] != 1 || text.ToUpper(\"a\") != \"A\" { "+
		"panic(\"wrong\") }"); err != nil {
		t.Errorf("what is available was not imported: %v", err)
	}
	if err := run(interp, "import \"github.com/bochner-ml/bochner/estimator\"\nr := estimator.NewRidge()\n_ = "+
		"r"); err != nil {
		t.Error(err)
	}
}

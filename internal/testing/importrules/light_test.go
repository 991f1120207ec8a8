package importrules

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// clusters are packages, and all below them, that only the complete command needs: the module distributed has it.
var clusters = []string{"github.com/aws", "github.com/jackc", "github.com/prometheus", "modernc.org", "cloud.google.com",
	"gocloud.dev", "go.opentelemetry.io", "google.golang.org", "github.com/sjwhitworth",
	"github.com/apache", module + "/datasets/arrow"}

// heavy are packages, and all below them, that the library does not need: they belong to the application.
// Templates are among them because the linker then keeps every exported method of a program.
var heavy = slices.Concat(clusters, []string{
	module + "/experiment", module + "/experiment/command", module + "/serve", module + "/graph/golang",
	"net/http", "database/sql", "text/template", "html/template", "testing",
	module + "/datasets/parquet", // which a program imports that reads them
})

// A program that uses the library does not build the application, nor does the command what clusters need.
func TestLibraryIsLight(t *testing.T) {
	packages := map[string][]string{module: heavy, module + "/pipeline/modelfile": heavy, module + "/pipeline/yaml": heavy,
		module + "/gridsearch": heavy, module + "/auto": heavy, module + "/internal/rows/reader": heavy,
		module + "/cmd/bochner": clusters, module + "/serve/ui": clusters}
	for name, heavy := range packages {
		out, err := exec.Command("go", "list", "-deps", name).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		deps := strings.Fields(string(out))
		for _, dep := range deps {
			for _, h := range heavy {
				if dep == h || strings.HasPrefix(dep, h+"/") {
					t.Errorf("%s imports %s", name, dep)
				}
			}
		}
		if len(deps) < 50 {
			t.Errorf("%s: only %d packages found", name, len(deps))
		}
	}
}

// maxRequirements is the maximum number of modules that go.mod requires: importers select and review all of them.
const maxRequirements = 40

// The module requires few others.
func TestFewRequirements(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	n := strings.Count(string(text), "\n\t") + strings.Count(string(text), "\nrequire git")
	if n < 5 || n > maxRequirements {
		t.Errorf("go.mod has %d requirements, must be at most %d", n, maxRequirements)
	}
}

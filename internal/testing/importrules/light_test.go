package importrules

import (
	"os/exec"
	"strings"
	"testing"
)

// heavy are packages, and all below them, that the library does not need: they belong to the application.
// Templates are among them because the linker then keeps every exported method of a program.
var heavy = []string{
	Module + "/experiment", Module + "/report", Module + "/internal/experiment/mlflow", Module + "/serve", Module + "/distributed",
	Module + "/graph/golang",
	"net/http", "database/sql", "text/template", "html/template", "testing",
	"github.com/aws", "github.com/jackc", "github.com/prometheus", "modernc.org", "cloud.google.com", "gocloud.dev",
	"go.opentelemetry.io", "google.golang.org",
	// which a program imports that reads them
	"github.com/apache", Module + "/datasets/parquet", Module + "/datasets/arrow",
}

// A program that uses the library does not build the application.
func TestLibraryIsLight(t *testing.T) {
	packages := []string{Module, Module + "/pipeline/modelfile", Module + "/pipeline/yaml", Module + "/gridsearch",
		Module + "/auto", Module + "/internal/rows/reader"}
	for _, name := range packages {
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

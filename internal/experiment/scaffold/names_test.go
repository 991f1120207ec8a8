package scaffold

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
)

// Strings of which most share words are text if names are requested; codes and few categories are not.
func TestNamesAreText(t *testing.T) {
	var text strings.Builder
	text.WriteString("title,code,part,y\n")
	for i := range 200 {
		fmt.Fprintf(&text, "%s %s %d,c%d,%s,%d\n", []string{"senior", "junior"}[i%2], []string{"nurse", "driver", "clerk"}[i%3],
			i%20, i%40, []string{"north side", "south side"}[i%2], i)
	}
	path := filepath.Join(t.TempDir(), "jobs.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, names := range []bool{false, true} {
		spec, err := Spec(context.Background(), path, Options{Names: names})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(spec.Data.Kinds)
		if want := fmt.Sprint(map[string]datasets.Kind{"title": datasets.Text}); names != (got == want) {
			t.Errorf("names %v: kinds %s", names, got)
		}
	}
}

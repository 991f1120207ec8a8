package docs_test

import (
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/serve"
)

var (
	metricName = regexp.MustCompile(`(?m)^# TYPE (\w+)`)
	named      = regexp.MustCompile(`\b(?:bochner|process|go)_[a-z_]*[a-z]\b`)
)

// TestServingNamesMetrics checks that serving.md names every metric of the server, and that the pages
// name no others.
func TestServingNamesMetrics(t *testing.T) {
	s, err := serve.New(serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := httptest.NewRecorder()
	s.ServeHTTP(text, httptest.NewRequest("GET", "/metrics", nil))
	known := map[string]bool{}
	for _, m := range metricName.FindAllStringSubmatch(text.Body.String(), -1) {
		known[m[1]] = true
	}
	if len(known) < 10 {
		t.Errorf("only %d metrics", len(known))
	}
	for _, file := range []string{"serving.md", "operations.md"} {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for name := range known {
			if file == "serving.md" && strings.HasPrefix(name, "bochner_") && !strings.Contains(string(page), name) {
				t.Errorf("%s does not name the metric %s", file, name)
			}
		}
		for _, name := range named.FindAllString(string(page), -1) {
			if name = strings.TrimSuffix(name, "_bucket"); !known[name] {
				t.Errorf("%s names the metric %s, which the server does not have", file, name)
			}
		}
	}
}

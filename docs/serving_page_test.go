package docs_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment"
	"github.com/bochner-ml/bochner/serve"
)

var (
	curl    = regexp.MustCompile(`(?s)    \$ curl -s localhost:8080(\S+)(?: -H 'Content-Type: application/json' -d '(.*?)')?\n    (\{[^\n]*)`)
	differs = regexp.MustCompile(`"loaded":"[^"]*","bytes":\d+,"load_seconds":[\d.e-]+`) // from one machine to another
	digits  = regexp.MustCompile(`\d+\.\d+`)
)

// TestServingAnswers checks that the responses shown in serving.md are those of the server.
func TestServingAnswers(t *testing.T) {
	dir := t.TempDir()
	spec, err := experiment.Load(t.Context(), "../examples/power/linear.yaml",
		experiment.Override{Path: "output.dir", Value: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Run(t.Context(), spec, experiment.Options{}); err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Models: []string{"power=" + filepath.Join(dir, "model.bochner")}})
	if err == nil {
		err = s.Load(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("serving.md")
	if err != nil {
		t.Fatal(err)
	}
	asked := curl.FindAllStringSubmatch(string(page), -1)
	if len(asked) != strings.Count(string(page), "$ curl") || len(asked) < 4 {
		t.Fatalf("%d requests found", len(asked))
	}
	plain := func(text string) string {
		text = digits.ReplaceAllStringFunc(differs.ReplaceAllString(text, "…"), func(number string) string {
			var v float64
			fmt.Sscan(number, &v)
			return fmt.Sprintf("%.6g", v)
		})
		return strings.TrimSpace(text)
	}
	for _, m := range asked {
		method := "GET"
		if m[2] != "" {
			method = "POST"
			if !json.Valid([]byte(m[2])) {
				t.Errorf("this is no JSON: %s", m[2])
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, m[1], strings.NewReader(m[2])))
		if got := w.Body.String(); plain(got) != plain(m[3]) {
			t.Errorf("%s answers\n%s\nthe page shows\n%s", m[1], got, m[3])
		}
	}
}

var metricName = regexp.MustCompile(`(?m)^# TYPE (bochner_\w+)`)

// The page names every metric of the server.
func TestServingNamesMetrics(t *testing.T) {
	page, err := os.ReadFile("serving.md")
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := s.WriteMetrics(&text); err != nil {
		t.Fatal(err)
	}
	names := 0
	for _, m := range metricName.FindAllStringSubmatch(text.String(), -1) {
		names++
		if !strings.Contains(string(page), m[1]) {
			t.Errorf("serving.md does not name the metric %s", m[1])
		}
	}
	if names < 10 {
		t.Errorf("only %d metrics", names)
	}
}

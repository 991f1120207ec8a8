package experiment

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
)

// A run does not overwrite different results without force, and reports the differences.
func TestEarlierRun(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", complete(60, class))
	const text = "data: {train: rows.csv, target: y, drop: [c]}\npipeline: [standardize, {rff: {features: 10}}, {rff: " +
		"{features: 8}, name: second}, {logistic: {C: 1.0}}]\noutput: {dir: out}\n"
	run := func(o Options, set ...Override) error {
		_, err := Run(context.Background(), spec(t, text, set...), o)
		return err
	}
	if err := run(Options{}); err != nil {
		t.Fatal(err)
	}
	model := func() []byte {
		b, err := os.ReadFile("out/model.bochner")
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		set  []Override
		want []string // differences; none for a run that resumes
	}{
		"the same":          {nil, nil},
		"another name":      {[]Override{set("name", "other")}, nil},
		"the default":       {[]Override{set("logistic.tol", "1e-4")}, nil},
		"a value":           {[]Override{set("logistic.C", "10")}, []string{"pipeline.logistic.C: 1.0 → 10.0"}},
		"a named step":      {[]Override{set("second.features", "6")}, []string{"pipeline.second.rff.features: 8 → 6"}},
		"a key of the data": {[]Override{set("data.drop", "[b, c]")}, []string{"data.drop: [c] → [b, c]"}},
		"a search":          {[]Override{set("search.grid.logistic.C", "[1, 2]")}, []string{"search: none → given"}},
		"a split":           {[]Override{set("data.split.test", "0.5")}, []string{"data.split: none → given"}},
	} {
		err := run(Options{}, c.set...)
		var earlier *existingRunError
		errors.As(err, &earlier)
		switch {
		case c.want == nil && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != nil && earlier == nil:
			t.Errorf("%s: %v, want another run", name, err)
		case c.want != nil && !sameWords(earlier.Differences, c.want):
			t.Errorf("%s: %q, want %q", name, earlier.Differences, c.want)
		}
	}
	before := model()
	put(t, "rows.csv", complete(61, class))
	var earlier *existingRunError
	if err := run(Options{}); !errors.As(err, &earlier) || len(earlier.Differences) != 1 ||
		!strings.HasPrefix(earlier.Differences[0], "data.train: other contents") {
		t.Errorf("other data: %v", err)
	}
	if !bytes.Equal(before, model()) {
		t.Error("the model was replaced")
	}
	if err := run(Options{Force: true}); err != nil {
		t.Error(err)
	}
	if bytes.Equal(before, model()) {
		t.Error("the model was not replaced")
	}
}

// sameWords reports whether two lists have the same elements.
func sameWords(a, b []string) bool {
	count := func(list []string) map[string]int {
		m := map[string]int{}
		for _, w := range list {
			m[w]++
		}
		return m
	}
	return reflect.DeepEqual(count(a), count(b))
}

// Neither run nor auto overwrites the results of the other without force; with force, no file of
// the other remains.
func TestRunAndAutoInOneFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx := context.Background()
	put(t, "rows.csv", complete(60, class))
	s := spec(t, "data: {train: rows.csv, target: y, drop: [c]}\npipeline: [standardize, logistic]\noutput: {dir: out}\n")
	search := func(force bool) error {
		_, err := Auto(ctx, "rows.csv", AutoOptions{Target: "y", Candidates: 2, Dir: "out", Force: force})
		return err
	}
	files := func() (names []string) {
		entries, err := os.ReadDir("out")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	for range 2 { // the second run resumes the first
		if err := search(false); err != nil {
			t.Fatal(err)
		}
	}
	before := files()
	var earlier *existingRunError
	if _, err := Run(ctx, s, Options{}); !errors.As(err, &earlier) || !reflect.DeepEqual(files(), before) {
		t.Errorf("a run over auto: %v, %v", err, files())
	}
	if _, err := Run(ctx, s, Options{Force: true}); err != nil {
		t.Fatal(err)
	}
	if want := []string{"model.bochner", "report.html", "result.json", "spec.yaml"}; !reflect.DeepEqual(files(), want) {
		t.Errorf("after the run: %v, want %v", files(), want)
	}
	if err := search(false); err == nil || !strings.Contains(err.Error(), "results of a different run") {
		t.Errorf("auto over a run: %v", err)
	}
	if err := search(true); err != nil || !reflect.DeepEqual(files(), before) {
		t.Errorf("after auto: %v, want %v: %v", files(), before, err)
	}
}

// Of two runs at the same time in one directory, with or without force, the second is refused, and
// no file is its own.
func TestConcurrentRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", complete(60, class))
	const text = "data: {train: rows.csv, target: y, drop: [c], split: {test: 0.5}}\npipeline: [standardize, logistic]\n" +
		"output: {dir: out}\n"
	for name, force := range map[string]bool{"without force": false, "with force": true} {
		var started bool
		var second, search error
		var during Progress = func(step string, done, total int) {
			if step == "load" || started {
				return
			}
			started = true
			_, second = Run(context.Background(), spec(t, text, set("seed", "2")), Options{Force: force})
			_, search = Auto(context.Background(), "rows.csv", AutoOptions{Target: "y", Dir: "out", Candidates: 1, Force: force})
		}
		found, err := Run(context.Background(), spec(t, text), Options{Progress: during, Force: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{second, search} {
			if err == nil || !strings.Contains(err.Error(), "another run is writing into it") {
				t.Errorf("%s: the second run: %v", name, err)
			}
		}
		if saved, err := ReadRun("out"); err != nil || saved.Seed != found.Seed {
			t.Errorf("%s: %v, seed %d, want %d", name, err, saved.Seed, found.Seed)
		}
	}
}

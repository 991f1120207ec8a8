package experiment

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// If a simpler model is better, the result, the file and the page state it first; otherwise they do
// not mention it.
func TestSimplerModelIsBetter(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(8, 9))
	linear, rare, both := "a,b,y\n", "a,b,y\n", measured(300)
	for range 300 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		linear += fmt.Sprintf("%.4f,%.4f,%.4f\n", a, b, 3*a-2*b+rng.NormFloat64()/10)
		class := "no"
		if rng.IntN(8) == 0 {
			class = "yes"
		}
		rare += fmt.Sprintf("%.4f,%.4f,%s\n", a, b, class)
	}
	for _, c := range []struct{ name, rows, pipeline, want string }{
		{"linear model", linear, "[standardize, {rff: {features: 6, gamma: 10}}, ridge]",
			"a linear model is better than this model: r2 "},
		{"most frequent class", rare, "[standardize, {rff: {features: 200, gamma: 100}}, {svm: {C: 1000}}]",
			"always predicting the most frequent class is better than this model: "},
		{"none", both, "[standardize, {rff: {features: 50, gamma: 1}}, ridge]", ""},
	} {
		put(t, "rows.csv", c.rows)
		r := execute(t, spec(t, "data: {train: rows.csv, target: y, split: {test: 0.3}}\npipeline: "+c.pipeline+
			"\noutput: {dir: out}\n"))
		if !strings.HasPrefix(r.Simpler, c.want) || c.want == "" && r.Simpler != "" {
			t.Errorf("%s: %q, want %q", c.name, r.Simpler, c.want)
		}
		if c.want == "" {
			continue
		}
		read, err := ReadRun("out")
		if err != nil || read.Simpler != r.Simpler {
			t.Errorf("%s: result.json has %q, want %q (%v)", c.name, read.Simpler, r.Simpler, err)
		}
		page := text(t, "out/report.html")
		got, scores := strings.Index(page, r.Simpler[1:]+"."), strings.Index(page, "test rows")
		if got < 0 || got > scores {
			t.Errorf("%s: the page does not begin with it", c.name)
		}
	}
}

// A class without test rows is named as the file has it.
func TestUndefinedScoresNameClasses(t *testing.T) {
	t.Chdir(t.TempDir())
	rows := "a,y\n"
	for i := range 60 {
		rows += fmt.Sprintf("%d,%s\n", i%7, []string{"cat", "dog", "eel"}[i%3])
	}
	put(t, "rows.csv", rows)
	put(t, "test.csv", "a,y\n1,cat\n2,dog\n3,cat\n4,dog\n")
	r := execute(t, spec(t, "data: {train: rows.csv, test: test.csv, target: y}\npipeline: [standardize, "+
		"logistic]\noutput: {dir: out}\n"))
	if all := strings.Join(r.Warnings, "\n"); !strings.Contains(all, "no row is of class eel") {
		t.Errorf("warnings %q do not name the class", all)
	}
}

// Inputs of test rows outside the range of the training rows are reported, others are not.
func TestRunReportsDriftOfTestRows(t *testing.T) {
	t.Chdir(t.TempDir())
	train, test := "year,a,y\n", "year,a,y\n"
	for i := range 200 {
		train += fmt.Sprintf("2023,%d,%d\n", i%17, i%17)
		test += fmt.Sprintf("2024,%d,%d\n", i%17, i%17)
	}
	put(t, "rows.csv", train)
	put(t, "test.csv", test)
	r := execute(t, spec(t, "data: {train: rows.csv, test: test.csv, target: y}\npipeline: [standardize, "+
		"ridge]\noutput: {dir: out}\n"))
	if r.Drift == nil {
		t.Fatal("no drift")
	}
	if d := r.Drift.Drifted(); len(d) != 1 || d[0].Name != "year" || d[0].OutOfRange != 1 {
		t.Errorf("%+v, want that all of year are outside", d)
	}
	if page := text(t, "out/report.html"); !strings.Contains(page, "differ from the training rows") {
		t.Error("the page does not report it")
	}
	read, err := ReadRun("out")
	if err != nil || read.Drift == nil || read.Drift.Rows != 200 {
		t.Errorf("result.json has %+v (%v)", read.Drift, err)
	}
	r = execute(t, spec(t, "data: {train: rows.csv, target: y, split: {test: 0.3}}\npipeline: [standardize, "+
		"ridge]\noutput: {dir: out}\n"))
	if d := r.Drift.Drifted(); len(d) > 0 {
		t.Errorf("%+v differ in rows of one file", d)
	}
}

// Importance is measured on enough rows of a rare class.
func TestImportanceOfARareClass(t *testing.T) {
	t.Chdir(t.TempDir())
	rng := rand.New(rand.NewPCG(3, 4))
	const inputs = 60
	var b strings.Builder
	for j := range inputs {
		fmt.Fprintf(&b, "x%d,", j)
	}
	b.WriteString("y\n")
	for range 4000 {
		sum := 0.0
		for j := range inputs {
			x := rng.NormFloat64()
			if sum += x; j > 2 {
				sum -= x
			}
			fmt.Fprintf(&b, "%.3f,", x)
		}
		fmt.Fprintf(&b, "%t\n", sum > 3.2)
	}
	put(t, "rows.csv", b.String())
	r := execute(t, spec(t, "data: {train: rows.csv, target: y, split: {test: 0.5}}\npipeline: [standardize, "+
		"logistic]\nreport: {importance: {repeats: 10}}\noutput: {dir: out}\n"))
	rare, total := r.PerClass[1].Support, r.PerClass[0].Support+r.PerClass[1].Support
	if want := min(50, rare); rare > 0.1*total || float64(r.Importance.Rows)*rare/total < 0.9*want {
		t.Errorf("%d of %v rows, of which %v are of the rare class", r.Importance.Rows, total, rare)
	}
	for _, in := range r.Importance.Inputs {
		if in.StdError <= 0 || in.Mean < -5*in.StdError {
			t.Errorf("%s: %v ± %v", in.Name, in.Mean, in.StdError)
		}
	}
}

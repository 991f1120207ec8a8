package experiment

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/kernel"
)

// writeNPY writes a matrix as numpy does.
func writeNPY(t *testing.T, path string, m mat.Matrix) {
	t.Helper()
	if err := os.WriteFile(path, npyOf(m), 0o644); err != nil {
		t.Fatal(err)
	}
}

func npyOf(m mat.Matrix) []byte {
	n, d := m.Dims()
	shape := fmt.Sprintf("(%d, %d)", n, d)
	if d == 1 {
		shape = fmt.Sprintf("(%d,)", n)
	}
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	for i := range n {
		binary.Write(&b, binary.LittleEndian, mat.Row(nil, i, m))
	}
	return b.Bytes()
}

// pairsOfCharacters is a string kernel: the cosine of the counts of pairs of neighboring characters.
func pairsOfCharacters(a, b string) float64 {
	count := func(s string) map[string]float64 {
		out := map[string]float64{}
		for i := range len(s) - 1 {
			out[s[i:i+2]]++
		}
		return out
	}
	dot := func(a, b map[string]float64) (sum float64) {
		for pair, n := range a {
			sum += n * b[pair]
		}
		return sum
	}
	x, y := count(a), count(b)
	return dot(x, y) / math.Sqrt(dot(x, x)*dot(y, y))
}

var gramWords = func() (out []string) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 70 {
		word := ""
		for range 4 + rng.IntN(5) {
			word += string("abcde"[rng.IntN(5)])
		}
		out = append(out, word)
	}
	return out
}()

func init() {
	err := kernel.Register("experiment_words", func(x, y []float64) float64 {
		return pairsOfCharacters(gramWords[int(x[0])], gramWords[int(y[0])])
	})
	if err != nil {
		panic(err)
	}
}

// gramFiles writes rows with the number of a word and targets, and the Gram matrices of the words: 50 rows to train
// on and 20 to test on, also as an archive with the target.
func gramFiles(t *testing.T) {
	t.Helper()
	K := mat.NewDense(70, 70, nil)
	for i, a := range gramWords {
		for j, b := range gramWords {
			K.Set(i, j, pairsOfCharacters(a, b))
		}
	}
	writeNPY(t, "K.npy", K.Slice(0, 50, 0, 50))
	writeNPY(t, "Kt.npy", K.Slice(50, 70, 0, 50))
	targets := mat.NewDense(70, 1, nil)
	for name, at := range map[string][2]int{"train.csv": {0, 50}, "test.csv": {50, 70}} {
		text := "word,y,class\n"
		for i := at[0]; i < at[1]; i++ {
			y := float64(strings.Count(gramWords[i], "ab")) + float64(len(gramWords[i]))/4
			targets.Set(i, 0, y)
			text += fmt.Sprintf("%d,%g,%s\n", i, y, []string{"no", "yes"}[strings.Count(gramWords[i], "a")%2])
		}
		put(t, name, text)
	}
	var b bytes.Buffer
	archive := zip.NewWriter(&b)
	for name, m := range map[string]mat.Matrix{"X.npy": K.Slice(50, 70, 0, 50), "y.npy": targets.Slice(50, 70, 0, 1)} {
		w, err := archive.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(npyOf(m)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, "test.npz", b.String())
}

// A Gram matrix in data.gram gives the model of the same kernel as a function of the rows: its search, its test
// scores and the predictions of its model file.
func TestGramMatrices(t *testing.T) {
	t.Chdir(t.TempDir())
	gramFiles(t)
	for _, c := range []struct{ model, target, drop, settings, axis string }{
		{"kernel_ridge", "y", "class", "", "alpha: [0.01, 0.1, 1]"},
		{"kernel_ridge_classifier", "class", "y", "", "alpha: [0.01, 0.1, 1]"},
		{"kernel_svm", "class", "y", "tol: 1e-12, ", "C: [0.1, 1, 10]"},
		{"kernel_svr", "y", "class", "tol: 1e-12, epsilon: 0.1, ", "C: [0.1, 1, 10]"},
	} {
		document := func(kernel, gram, out string) string {
			return fmt.Sprintf(`
data: {train: train.csv, test: test.csv, target: %s, drop: [%s]%s}
pipeline: [{%s: {%skernel: %s}}]
search: {grid: {%s.%s}, folds: 4}
output: {dir: %s}
`, c.target, c.drop, gram, c.model, c.settings, kernel, c.model, c.axis, out)
		}
		want := execute(t, spec(t, document("experiment_words", "", c.model+"-own")))
		loaded := spec(t, document("precomputed", ", gram: {train: K.npy, test: Kt.npy}", c.model+"-gram"))
		got := execute(t, loaded)
		if got.Features != 50 || got.Rows.Train != 50 || got.Rows.Test != 20 {
			t.Errorf("%s: %d features, %+v rows", c.model, got.Features, got.Rows)
		}
		if a, b := got.Search.Best, want.Search.Best; math.Abs(a.Mean-b.Mean) > 1e-9 ||
			fmt.Sprint(a.Params) != fmt.Sprint(b.Params) {
			t.Errorf("%s: the search found %v, want %v", c.model, a, b)
		}
		for name, v := range want.Test {
			if math.Abs(got.Test[name]-v) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", c.model, name, got.Test[name], v)
			}
		}
		// the saved model, by the values of new rows
		equalPredictions(t, c.model, predictedNumbers(t, c.model+"-gram", "Kt.npy"),
			predictedNumbers(t, c.model+"-own", "test.csv"))
		if c.model == "kernel_ridge" {
			if v, err := Evaluate(context.Background(), c.model+"-gram", "test.npz", Options{}); err != nil {
				t.Error(err)
			} else if v.Rows != 20 || math.Abs(v.Scores["r2"]-want.Test["r2"]) > 1e-9 {
				t.Errorf("evaluation of %d rows: R² %v, want %v", v.Rows, v.Scores["r2"], want.Test["r2"])
			}
		}
		again, err := Load(context.Background(), c.model+"-gram/spec.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if again.Data.Gram != loaded.Data.Gram {
			t.Errorf("%s: the saved experiment has %+v, want %+v", c.model, again.Data.Gram, loaded.Data.Gram)
		}
	}
}

// predictedNumbers returns the numbers among the predictions of a model file.
func predictedNumbers(t *testing.T, model, data string) (out [][]float64) {
	t.Helper()
	var b bytes.Buffer
	if _, err := Predict(context.Background(), model, data, &b, Options{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		var numbers []float64
		for j, field := range row {
			if v, err := strconv.ParseFloat(field, 64); err == nil && rows[0][j] != "truth" {
				numbers = append(numbers, v)
			}
		}
		out = append(out, numbers)
	}
	return out
}

func equalPredictions(t *testing.T, name string, got, want [][]float64) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Fatalf("%s: %d predictions, want %d", name, len(got), len(want))
	}
	for i := range want {
		if len(got[i]) != len(want[i]) || len(want[i]) < 2 {
			t.Fatalf("%s: row %d: %v, want %v", name, i, got[i], want[i])
		}
		for j, v := range want[i] {
			if math.Abs(got[i][j]-v) > 1e-9*max(1, math.Abs(v)) {
				t.Errorf("%s: row %d: %v, want %v", name, i, got[i], want[i])
				break
			}
		}
	}
}

// Steps and models that use a kernel as features, or as a graph, take data.gram too.
func TestGramMatricesAsFeatures(t *testing.T) {
	t.Chdir(t.TempDir())
	gramFiles(t)
	for name, c := range map[string]struct{ pipeline, target, drop, rest string }{
		"nystroem": {"[{nystroem: {kernel: %s, landmarks: 20, selection: rpcholesky}}, {ridge: {alpha: 0.1}}]", "y", "class",
			"search: {grid: {nystroem.landmarks: [5, 20], ridge.alpha: [0.01, 0.1]}, folds: 4}"},
		"gaussian_process": {"[{gaussian_process: {kernel: %s}}]", "y", "class",
			"search: {grid: {gaussian_process.noise: [auto, 0.1]}, folds: 4}"},
		"spectral": {"[{spectral: {kernel: %s, clusters: 3}}]", "class", "y", ""},
	} {
		document := func(kernel, gram, out string) string {
			return fmt.Sprintf("data: {train: train.csv, test: test.csv, target: %s, drop: [%s]%s}\npipeline: "+c.pipeline+
				"\n%s\noutput: {dir: %s}\n", c.target, c.drop, gram, kernel, c.rest, out)
		}
		want := execute(t, spec(t, document("experiment_words", "", name+"-own")))
		got := execute(t, spec(t, document("precomputed", ", gram: {train: K.npy, test: Kt.npy}", name+"-gram")))
		if len(want.Test) == 0 {
			t.Errorf("%s: no test scores", name)
		}
		for metric, v := range want.Test {
			ofInputs := slices.Contains([]string{"silhouette", "calinski_harabasz", "davies_bouldin"}, metric)
			if !ofInputs && math.Abs(got.Test[metric]-v) > 1e-9 {
				t.Errorf("%s: %s is %v, want %v", name, metric, got.Test[metric], v)
			}
		}
		equalPredictions(t, name, predictedNumbers(t, name+"-gram", "Kt.npy"), predictedNumbers(t, name+"-own", "test.csv"))
	}
}

// Commands that need the inputs of the rows refuse Gram matrices.
func TestGramMatricesAreNotExplained(t *testing.T) {
	t.Chdir(t.TempDir())
	gramFiles(t)
	run := execute(t, spec(t, "data: {train: train.csv, target: y, drop: [class], gram: {train: K.npy}}\n"+
		"pipeline: [{kernel_ridge: {kernel: precomputed}}]\noutput: {dir: out}\n"))
	if run.Importance != nil || len(run.Effects) > 0 {
		t.Errorf("importance %v of kernel values", run.Importance)
	}
	_, err := Explain(context.Background(), "out", "K.npy", Options{})
	if err == nil || !strings.Contains(err.Error(), "cannot explain a model of kernel: precomputed") {
		t.Errorf("explain: error %v", err)
	}
	if _, err := (LoadOptions{Continue: "out"}).Load(context.Background(), "out/spec.yaml"); err == nil ||
		!strings.Contains(err.Error(), "data.gram: Gram matrices do not support incremental learning") {
		t.Errorf("--continue: error %v", err)
	}
}

// Gram matrices that do not fit the rows are errors with their places, all at once and before a run.
func TestWrongGramMatrices(t *testing.T) {
	t.Chdir(t.TempDir())
	gramFiles(t)
	K := mat.NewDense(50, 50, nil)
	for i := range 50 {
		K.Set(i, i, 1)
	}
	writeNPY(t, "narrow.npy", K.Slice(0, 50, 0, 49))
	writeNPY(t, "small.npy", K.Slice(0, 49, 0, 49))
	K.Set(3, 7, 1e-3)
	writeNPY(t, "asymmetric.npy", K)
	K.Set(3, 7, math.NaN())
	writeNPY(t, "missing.npy", K)
	const document = `
data:
  train: train.csv
  test: test.csv
  target: y
  drop: [class]
  gram:
    train: K.npy
    test: Kt.npy
pipeline: [{kernel_ridge: {kernel: precomputed}}]
`
	if _, err := Parse(context.Background(), "spec.yaml", []byte(document)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		set  []Override
		want []string
	}{
		{[]Override{set("data.gram.train", "narrow.npy"), set("data.gram.test", "small.npy")}, []string{
			"--set: data.gram.train: narrow.npy: the Gram matrix must be square, got 50×49",
			"--set: data.gram.test: small.npy: must have a row for each of the 20 rows of test.csv, got 49×49",
			"--set: data.gram.test: small.npy: must have a column for each of the 50 rows of train.csv, got 49×49"}},
		{[]Override{set("data.gram.train", "small.npy")}, []string{
			"--set: data.gram.train: small.npy: must have a row for each of the 50 rows of train.csv, got 49×49"}},
		{[]Override{set("data.gram.train", "asymmetric.npy")}, []string{"--set: data.gram.train: asymmetric.npy: the Gram " +
			"matrix must be symmetric, got 0 in row 7, column 3 and 0.001 in the transposed position"}},
		{[]Override{set("data.gram.train", "missing.npy")}, []string{
			"--set: data.gram.train: missing.npy: must be finite, got NaN in row 3, column 7"}},
		{[]Override{set("data.gram.train", "none.npy"), set("data.gram.test", "train.csv")}, []string{
			"--set: data.gram.train: none.npy: no such file or directory", "--set: data.gram.test: train.csv: not an array"}},
		{[]Override{set("data.gram.train", ""), set("data.stream", "always")}, []string{
			"data.gram.train: missing: must be the file of the Gram matrix of the training rows",
			"--set: data.stream: must be auto or never with data.gram, got \"always\""}},
		{[]Override{set("data.test", "")}, []string{"spec.yaml:9:5: data.gram.test: requires data.test"}},
		{[]Override{set("data.gram.test", "")}, []string{"data.gram.test: missing: must be a file with a row for each row " +
			"of data.test"}},
		{[]Override{set("kernel_ridge.kernel", "gaussian")}, []string{"spec.yaml:7:3: data.gram: requires a step with " +
			"kernel: precomputed"}},
	} {
		_, err := Parse(context.Background(), "spec.yaml", []byte(document), c.set...)
		if err == nil {
			t.Errorf("%v: no error", c.set)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error\n%v\nwant\n%s", c.set, err, want)
			}
		}
	}
}

// Rows without a target are left out of the Gram matrix too, and test rows may be split off.
func TestGramMatrixOfSomeRows(t *testing.T) {
	t.Chdir(t.TempDir())
	gramFiles(t)
	text := strings.Split(fileText(t, "train.csv"), "\n")
	for _, row := range []int{3, 30} {
		fields := strings.Split(text[1+row], ",")
		text[1+row] = fields[0] + ",," + fields[2]
	}
	put(t, "train.csv", strings.Join(text, "\n"))
	document := func(kernel, gram, out string) string {
		return fmt.Sprintf(`
data: {train: train.csv, split: {test: 0.3}, target: y, drop: [class], missing_target: drop%s}
pipeline: [{kernel_ridge: {kernel: %s, alpha: 0.1}}]
output: {dir: %s}
`, gram, kernel, out)
	}
	want := execute(t, spec(t, document("experiment_words", "", "own")))
	got := execute(t, spec(t, document("precomputed", ", gram: {train: K.npy}", "gram")))
	if got.Rows != want.Rows || math.Abs(got.Test["r2"]-want.Test["r2"]) > 1e-9 {
		t.Errorf("%+v rows, R² %v; want %+v and %v", got.Rows, got.Test["r2"], want.Rows, want.Test["r2"])
	}
	equalPredictions(t, "some rows", predictedNumbers(t, "gram", "K.npy"), predictedNumbers(t, "own", "train.csv"))
	for _, column := range []string{"row", "truth"} {
		if a, b := columnOf(t, "gram/predictions.csv", column), columnOf(t, "own/predictions.csv", column); a != b {
			t.Errorf("%s of predictions.csv: %s, want %s", column, a, b)
		}
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// columnOf returns the fields of a column of a CSV file, separated by spaces.
func columnOf(t *testing.T, path, name string) string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(fileText(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at, out := slices.Index(rows[0], name), ""
	for _, row := range rows[1:] {
		out += row[at] + " "
	}
	return out
}

package metamorphic

import (
	"context"
	"math"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gopkg.in/yaml.v3"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
	pipeyaml "github.com/bochner-ml/bochner/pipeline/yaml"
)

// flat lists pipelines whose fit to a stream stores no rows, and how many numbers it stores per
// row. Those with a sample use fewer rows than the smallest stream here.
var flat = map[string]struct {
	target, text string
	numbers, few int
}{
	"ridge":               {"number", "[standardize, {rff: {features: 30}}, ridge]", 0, 20_000},
	"several targets":     {"numbers", "[standardize, {rff: {features: 30}}, ridge]", 0, 20_000},
	"ridge_classifier":    {"classes", "[standardize, {rff: {features: 30}}, ridge_classifier]", 0, 20_000},
	"logistic":            {"classes", "[standardize, {rff: {features: 30}}, {logistic: {max_iter: 3}}]", 3, 20_000},
	"svm":                 {"classes", "[standardize, {svm: {loss: squared_hinge, max_iter: 3}}]", 3, 20_000},
	"svr":                 {"number", "[standardize, {svr: {loss: squared_epsilon_insensitive, max_iter: 3}}]", 3, 20_000},
	"gamma_regression":    {"amount", "[standardize, {gamma_regression: {max_iter: 3}}]", 3, 20_000},
	"huber":               {"number", "[standardize, {huber: {max_iter: 3}}]", 3, 20_000},
	"quantile_regression": {"number", "[standardize, {quantile_regression: {max_iter: 3}}]", 8, 20_000},
	"sgd_classifier":      {"classes", "[standardize, {sgd_classifier: {epochs: 2}}]", 0, 20_000},
	"sgd_regressor":       {"number", "[standardize, {sgd_regressor: {epochs: 2}}]", 0, 20_000},
	"gaussian_process":    {"number", "[standardize, {gaussian_process: {features: 30, rows: 500, steps: 2}}]", 0, 20_000},
	"target":              {"number", "[standardize, {target: {transform: standardize, estimator: ridge}}]", 2, 20_000},
	"intervals": {"number", "[standardize, {rff: {features: 30}}, {intervals: {method: split, estimator: ridge}}]",
		3, 20_000},
	"sets": {"classes",
		"[standardize, {rff: {features: 30}}, {intervals: {method: split, estimator: ridge_classifier}}]", 3, 20_000},
	"kmeans":         {"none", "[standardize, {kmeans: {clusters: 3, max_iter: 3}}]", 0, 60_000},
	"impute":         {"number", "[{impute: {strategy: median}}, ridge]", 0, 60_000},
	"minmax, robust": {"number", "[minmax, robust, ridge]", 0, 60_000},
	"quantile":       {"number", "[quantile, ridge]", 0, 60_000},
	"union":          {"number", "[{union: [standardize, {pca: {components: 2}}]}, ridge]", 0, 20_000},
	"columns": {"number",
		"[{columns: [{select: numeric, steps: [standardize]}, {name: again, select: numeric, steps: [minmax]}]}, ridge]", 0,
		20_000},
	"gamma by a rule":  {"number", "[standardize, {rff: {features: 30, gamma: median}}, ridge]", 0, 20_000},
	"softmax_features": {"number", "[standardize, {softmax_features: {features: 30}}, ridge]", 0, 20_000},
	"nystroem":         {"number", "[standardize, {nystroem: {landmarks: 20}}, ridge]", 0, 20_000},
	"ard":              {"number", "[standardize, {ard: {rows: 500, steps: 2}}, ridge]", 0, 20_000},
	"rfm":              {"number", "[standardize, {rfm: {rows: 500, rounds: 1}}, ridge]", 0, 20_000},
}

// The memory of a fit to a stream does not grow with the rows, except for the declared numbers:
// three times the rows may use two more bytes per row, or an eightieth of the inputs. It is
// measured before the last block of each pass, and at the end.
func TestStreamsAreFlat(t *testing.T) {
	for name, c := range flat {
		t.Run(name, func(t *testing.T) {
			if !exhaustive.Tests() && c.few > 20_000 {
				t.Skip("a second each")
			}
			less, more := heldBy(t, c.target, c.text, c.few), heldBy(t, c.target, c.text, 3*c.few)
			grown := float64(more-less) / float64(2*c.few)
			t.Logf("%d kB for %d rows, %d kB for %d: %.1f bytes for each", less>>10, c.few, more>>10, 3*c.few, grown)
			if grown > float64(8*c.numbers+2) {
				t.Errorf("each row more, of %d inputs, is held in %.1f bytes", drawnCols, grown)
			}
		})
	}
}

// Models that store rows are detected, so the test above is effective.
func TestHeldOutRowsAreUsed(t *testing.T) {
	const few = 5_000
	const dual = "[standardize, {svm: {loss: hinge, max_iter: 3}}]"
	less, more := heldBy(t, "classes", dual, few), heldBy(t, "classes", dual, 3*few)
	if grown, inputs := more-less, int64(2*few*drawnCols*8); grown < inputs/2 {
		t.Errorf("%d rows more, which take %d bytes, are held in %d bytes", 2*few, inputs, grown)
	}
}

// heldBy returns the peak memory of a fit in addition to that before it.
func heldBy(t *testing.T, target, text string, rows int) int64 {
	t.Helper()
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(text), &node); err != nil {
		t.Fatal(err)
	}
	pipe, errs := pipeyaml.Decode(&node, pipeyaml.Origin{File: "flat.yaml", Path: "pipeline"})
	if errs != nil {
		t.Fatal(errs)
	}
	before := held()
	source := &made{rows: rows, what: target}
	fitted, err := pipe.FitSource(context.Background(), source)
	if err != nil {
		t.Fatal(err)
	}
	most := max(source.most, held())
	runtime.KeepAlive(fitted)
	return most - before
}

// held returns the number of reachable bytes.
func held() int64 {
	runtime.GC()
	runtime.GC() // empties pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

const drawnCols = 20

// made is a source of generated rows with the memory of one block.
type made struct {
	rows int
	what string // the target: number, amount, numbers, classes or none
	most int64  // reachable bytes at the end of a pass
}

func (m *made) Schema() datasets.Schema {
	switch m.what {
	case "none":
		return datasets.Schema{}
	case "classes":
		return datasets.Schema{Targets: []datasets.Column{{Name: "c", Kind: datasets.Categorical,
			Categories: []string{"no", "yes"}}}}
	case "numbers":
		return datasets.Schema{Targets: []datasets.Column{{Name: "y"}, {Name: "z"}}}
	}
	return datasets.Schema{Targets: []datasets.Column{{Name: "y"}}}
}

func (m *made) Dims() (rows, cols int) { return m.rows, drawnCols }

func (m *made) Blocks(ctx context.Context, yield func(block datasets.Set) error) error {
	const most = 1000
	x, y := make([]float64, most*drawnCols), make([]float64, 2*most)
	for first := 0; first < m.rows; first += most {
		n := min(most, m.rows-first)
		for i := range n {
			row := x[i*drawnCols : (i+1)*drawnCols]
			for j := range row {
				row[j] = number(first+i, j)
			}
			switch v := math.Sin(3*row[0]) + row[1]; m.what {
			case "classes":
				y[i] = 0
				if v > 0 {
					y[i] = 1
				}
			case "numbers":
				y[2*i], y[2*i+1] = v, v+row[2]
			case "amount":
				y[i] = math.Exp(v)
			default:
				y[i] = v
			}
		}
		block := datasets.Set{X: mat.NewDense(n, drawnCols, x[:n*drawnCols]), Schema: m.Schema()}
		switch m.what {
		case "none":
		case "numbers":
			block.Targets = mat.NewDense(n, 2, y[:2*n])
		default:
			block.Y = y[:n]
		}
		if first+n == m.rows {
			m.most = max(m.most, held())
		}
		if err := yield(block); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// number returns a number in [−1, 1] for a row and column, by mixing their bits.
func number(row, column int) float64 {
	h := uint64(row)*0x9e3779b97f4a7c15 + uint64(column)*0xbf58476d1ce4e5b9
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return float64((h^h>>31)>>11)/(1<<52) - 1
}

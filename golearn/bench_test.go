package golearn

import (
	"math/rand/v2"
	"testing"

	"github.com/sjwhitworth/golearn/base"
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

const benchRows, benchCols = 20_000, 20

func benchGrid(b *testing.B) (datasets.Set, *base.DenseInstances) {
	rng := rand.New(rand.NewPCG(1, 1))
	data := datasets.Set{X: mat.NewDense(benchRows, benchCols, nil), Y: make([]float64, benchRows)}
	for i := range benchRows {
		for j := range benchCols {
			data.X.(*mat.Dense).Set(i, j, rng.NormFloat64())
		}
	}
	grid, err := ToInstances(data)
	if err != nil {
		b.Fatal(err)
	}
	return data, grid
}

// report adds the time of a row.
func report(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkFromGrid(b *testing.B) {
	_, grid := benchGrid(b)
	for b.Loop() {
		if _, err := FromGrid(grid); err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

// The least that FromGrid could take: a new matrix and as many bytes copied into it.
func BenchmarkCopy(b *testing.B) {
	data, _ := benchGrid(b)
	from := data.X.(*mat.Dense).RawMatrix().Data
	for b.Loop() {
		copy(mat.NewDense(benchRows, benchCols, nil).RawMatrix().Data, from)
	}
	report(b)
}

func BenchmarkFromView(b *testing.B) {
	_, grid := benchGrid(b)
	view := base.NewInstancesViewFromVisible(grid, all(benchRows), grid.AllAttributes())
	for b.Loop() {
		if _, err := FromGrid(view); err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

func BenchmarkToInstances(b *testing.B) {
	data, _ := benchGrid(b)
	for b.Loop() {
		if _, err := ToInstances(data); err != nil {
			b.Fatal(err)
		}
	}
	report(b)
}

// BenchmarkPerCell measures access by cell: with attributes looked up once, by golearn's iteration,
// and by base.GetClass and base.SetClass, which look up the attribute of each cell. FromGrid is 78
// times as fast as the last, about twice as fast as the first two, and close to BenchmarkCopy.
func BenchmarkPerCell(b *testing.B) {
	_, grid := benchGrid(b)
	specs := base.ResolveAllAttributes(grid)
	attributes := grid.AllAttributes()
	X := mat.NewDense(benchRows, benchCols+1, nil)
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			for i := range benchRows {
				for j, spec := range specs {
					X.Set(i, j, base.UnpackBytesToFloat(grid.Get(spec, i)))
				}
			}
		}
		report(b)
	})
	b.Run("map", func(b *testing.B) {
		for b.Loop() {
			grid.MapOverRows(specs, func(row [][]byte, i int) (bool, error) {
				for j, bytes := range row {
					X.Set(i, j, base.UnpackBytesToFloat(bytes))
				}
				return true, nil
			})
		}
		report(b)
	})
	b.Run("attribute", func(b *testing.B) {
		for b.Loop() {
			for i := range benchRows {
				for j, a := range attributes {
					spec, err := grid.GetAttribute(a)
					if err != nil {
						b.Fatal(err)
					}
					X.Set(i, j, base.UnpackBytesToFloat(grid.Get(spec, i)))
				}
			}
		}
		report(b)
	})
	b.Run("set", func(b *testing.B) {
		for b.Loop() {
			for i := range benchRows {
				for j, spec := range specs {
					grid.Set(spec, i, base.PackFloatToBytes(X.At(i, j)))
				}
			}
		}
		report(b)
	})
}

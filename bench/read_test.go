package bench_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
)

// BenchmarkLoadCSV reads a file of 54 numeric columns and a target into memory, on one core and on
// all.
func BenchmarkLoadCSV(b *testing.B) {
	for _, s := range sizes() {
		b.Run(fmt.Sprintf("n=%d", s.rows), func(b *testing.B) {
			b.Run("one", func(b *testing.B) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
				load(b, s.rows)
			})
			b.Run("all", func(b *testing.B) { load(b, s.rows) })
		})
	}
}

func load(b *testing.B, rows int) {
	path := table(b, rows)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		set, err := csv.Options{Roles: datasets.Roles{Target: []string{"y"}}}.ReadFile(ctx, path)
		if err != nil {
			b.Fatal(err)
		}
		if set.Rows() != rows || set.Cols() != inputs {
			b.Fatalf("%d×%d numbers read, %d×%d written", set.Rows(), set.Cols(), rows, inputs)
		}
	}
	rate(b, float64(rows), "rows/s")
}

// table returns the path of a CSV file of the rows of [regression], with 8 digits per number. In
// the directory -scratch it is written once and kept.
func table(b *testing.B, rows int) string {
	b.Helper()
	folder := *scratch
	if folder == "" {
		folder = b.TempDir()
	}
	path := filepath.Join(folder, fmt.Sprintf("n=%d.csv", rows))
	if _, err := os.Stat(path); err == nil {
		return path
	} else if !errors.Is(err, fs.ErrNotExist) {
		b.Fatal(err)
	}
	if err := write(path+".new", rows); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		b.Fatal(err)
	}
	return path
}

func write(path string, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	var line []byte
	for j := range inputs {
		line = fmt.Appendf(line, "x%d,", j)
	}
	line = append(line, "y\n"...)
	rng, row := rand.New(rand.NewPCG(0, inputs)), make([]float64, inputs)
	for range rows {
		if _, err := out.Write(line); err != nil {
			return err
		}
		line = line[:0]
		y := draw(rng, row)
		for _, x := range row {
			line = append(strconv.AppendFloat(line, x, 'g', 8, 64), ',')
		}
		line = append(strconv.AppendFloat(line, y, 'g', 8, 64), '\n')
	}
	if _, err := out.Write(line); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

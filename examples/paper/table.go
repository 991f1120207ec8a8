package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// line is a table row: an experiment file, its data, and the result in the paper.
type line struct {
	data, method string
	file         string // without .yaml
	train, test  string
	drawn        bool     // the seed draws the test rows
	size         string   // D or P, as the paper has it
	paper, time  string   // the paper's error and time
	set          []string // overrides
	search       []string // overrides for a separate search; nil uses the result of the file
}

const (
	fourier = "Fourier, least squares"
	binning = "binning, least squares"
	vectors = "binning, SVM"
)

// lines are the paper's table 1.
var lines = []line{
	{data: "CPU", method: fourier, file: "cpu_act", train: "cpu_act.arff", drawn: true, size: "D = 300", paper: "3.6",
		time: "20 s"},
	{data: "CPU", method: binning, file: "cpu_act_binning", train: "cpu_act.arff", drawn: true, size: "P = 350",
		paper: "5.3", time: "3 min"},
	{data: "Census", method: fourier, file: "census", train: "census.csv", drawn: true, size: "D = 500", paper: "5",
		time: "36 s"},
	{data: "Census", method: binning, file: "census_binning", train: "census.csv", drawn: true, size: "P = 30",
		paper: "7.5", time: "19 min"},
	{data: "Adult", method: fourier, file: "a9a", train: "a9a", test: "a9a.t", size: "D = 500", paper: "14.9",
		time: "9 s"},
	{data: "Adult", method: binning, file: "a9a_binning", train: "a9a", test: "a9a.t", size: "P = 30", paper: "15.3",
		time: "1.5 min"},
	{data: "Forest Cover", method: fourier, file: "covtype", train: cover, size: "D = 5000", paper: "11.6",
		time: "71 min"},
	{data: "Forest Cover", method: binning, file: "covtype_binning", train: cover, size: "P = 50", paper: "2.2",
		time: "25 min"},
	{data: "KDD Cup 99", method: fourier, file: "kddcup99", train: kddTrain, test: kddTest, size: "D = 50", paper: "7.3",
		time: "1.5 min"},
	{data: "KDD Cup 99", method: binning, file: "kddcup99_binning", train: kddTrain, test: kddTest, size: "P = 10",
		paper: "7.3", time: "35 min"},
}

const (
	cover    = "covtype_random92962.data"
	kddTrain = "kddcup.data_10_percent"
	kddTest  = "corrected"
)

// grids lists the numbers of grids in the second table. Each has a separate search: that of the
// file, and from 100 on one around its result.
var grids = []int{50, 100, 200, 400}

// machine is the line of a number of grids.
func machine(p int) line {
	l := line{data: "Forest Cover", method: vectors, file: "covtype_svm", train: cover}
	if p != 50 {
		l.set = []string{fmt.Sprintf("binning.grids=%d", p), "binning.min_count=2", "columns.elevation.minmax.high=32",
			"columns.distances.minmax.high=32"}
		l.search = []string{"search.grid={binning.gamma: [0.7, 1, 1.4], svm.C: [3]}"}
	}
	return l
}

// key identifies a run.
func (l line) key(seed int) string { return fmt.Sprint(l.file, " ", l.set, " ", seed) }

func (l line) name() string { return strings.TrimSpace(l.file + " " + strings.Join(l.set, " ")) }

// error returns the measure of the paper, in per cent: wrong test rows, or ‖y − ŷ‖/‖y‖.
func (l line) error(r run) float64 {
	for _, score := range []string{"error_rate", "relative_rmse"} {
		if v, ok := r.Test[score]; ok {
			return 100 * v
		}
	}
	return 100 * (1 - r.Test["accuracy"])
}

// table makes the page.
type table struct {
	folder, data, only string
	seeds              int
	sklearn, ways      bool
	memo               memo
}

// page runs everything and returns the content of docs/paper.md.
func (t *table) page(ctx context.Context) (string, error) {
	if t.ways {
		text, err := t.choices(ctx)
		if err != nil || !t.sklearn {
			return text, err
		}
		others, err := t.peers(ctx)
		return text + others, err
	}
	var out strings.Builder
	out.WriteString(opening)
	out.WriteString("| data | method | size | paper | time there | here, mean ± sd | CPU time | memory " +
		"|\n|---|---|---|---:|---:|---:|---:|---:|\n")
	for _, l := range lines {
		if err := t.write(ctx, &out, l, fmt.Sprintf("| %s | [%s](../examples/paper/%s.yaml) | %s | %s | %s |", l.data,
			l.method, l.file, l.size, l.paper, l.time)); err != nil {
			return "", err
		}
	}
	out.WriteString(remarks)
	out.WriteString("| P | error, mean ± sd | CPU time | memory |\n|---:|---:|---:|---:|\n")
	for _, p := range grids {
		if err := t.write(ctx, &out, machine(p), fmt.Sprintf("| %d |", p)); err != nil {
			return "", err
		}
	}
	seven := machine(50)
	seven.set = []string{"data.positive=[]", "data.task=classification"}
	if err := t.write(ctx, &out, seven, "| 50, all seven classes |"); err != nil {
		return "", err
	}
	out.WriteString(closing)
	return out.String(), nil
}

// write writes a row: begin, followed by the results of the runs.
func (t *table) write(ctx context.Context, out *strings.Builder, l line, begin string) error {
	if match, _ := path.Match(t.only, l.file); !match {
		return nil
	}
	runs, err := t.measure(ctx, l)
	if err != nil && !errors.Is(err, errNotKept) {
		return err
	}
	if len(runs) == 0 {
		fmt.Fprintf(out, "%s not run | | |\n", begin)
		return nil
	}
	wrong, cpu, memory := make([]float64, len(runs)), make([]float64, len(runs)), 0.0
	for k, r := range runs {
		wrong[k], cpu[k], memory = l.error(r), r.CPU, max(memory, float64(r.Memory))
	}
	mean, sd := moments(wrong)
	if len(runs) < t.seeds {
		begin += fmt.Sprintf(" of %d seeds:", len(runs))
	}
	fmt.Fprintf(out, "%s **%.2f** ± %.2f | %.3g s | %.0f MB |\n", begin, mean, sd, median(cpu), memory/1e6)
	return nil
}

func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(x)-1)))
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// census writes census.csv from house_16H: it replaces the price, the last column, by its logarithm
// and omits rows with price 0.
func (t *table) census() (string, error) {
	from, err := t.find("574_house_16H.tsv")
	if err != nil {
		return "", err
	}
	in, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer in.Close()
	unzipped, err := gzip.NewReader(in)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	rows := bufio.NewScanner(unzipped)
	for first := true; rows.Scan(); first = false {
		fields := strings.Split(rows.Text(), "\t")
		last := &fields[len(fields)-1]
		if first {
			*last = "log_price"
		} else {
			price, err := strconv.ParseFloat(*last, 64)
			if err != nil {
				return "", fmt.Errorf("%s: %w", from, err)
			}
			if price == 0 {
				continue
			}
			*last = strconv.FormatFloat(math.Log(price), 'g', -1, 64)
		}
		out.WriteString(strings.Join(fields, ",") + "\n")
	}
	if err := rows.Err(); err != nil {
		return "", err
	}
	to := filepath.Join("runs", "paper", "census.csv")
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(to, []byte(out.String()), 0o644); err != nil {
		return "", err
	}
	return filepath.Abs(to)
}

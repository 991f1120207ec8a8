package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// field is a data set for the comparison, by cross-validation on some of its training rows.
type field struct {
	line
	rows                      string // how many rows, for the page
	loss                      string // further parameters of svr
	gammas, wide              string // γ of binning, and of the smooth kernel for few inputs
	smooth                    string // γ of the gaussian kernel
	alphas, thin, costs, many string // penalties of least squares on bins and on Fourier features; C; C of logistic
}

var fields = []field{
	{line: line{data: "CPU", file: "cpu_act_binning", train: "cpu_act.arff"}, rows: "6,553", loss: "epsilon: 0.5, ",
		gammas: "[0.125, 0.25, 0.5]", wide: "[0.5, 1, 2]", smooth: "[0.1, 0.2, 0.4]", alphas: "[0.01, 0.03, 0.1]",
		thin: "[0.00001, 0.0001, 0.001]", costs: "[10, 30, 100]"},
	{line: line{data: "Census", file: "census_binning", train: "census.csv"}, rows: "18,186", loss: "epsilon: 0.1, ",
		gammas: "[0.1, 0.2, 0.4]", wide: "[0.4, 0.8, 1.6]", smooth: "[0.005, 0.01, 0.02]", alphas: "[0.1, 0.3, 1]",
		thin: "[0.01, 0.1, 1]", costs: "[1, 3, 10]"},
	{line: line{data: "Adult", file: "a9a_binning", train: "a9a", test: "a9a.t"}, rows: "32,561",
		gammas: "[0.025, 0.05, 0.1]", smooth: "[0.005, 0.01, 0.02]", alphas: "[1, 3, 10]", thin: "[0.1, 1, 10]",
		costs: "[0.03, 0.1, 0.3]", many: "[0.1, 0.3, 1]"},
	{line: line{data: "Forest Cover", file: "covtype_svm", train: cover,
		set: []string{"data.split.test=0.784859"}}, rows: "20,000",
		gammas: "[0.3, 0.6, 1.2]", smooth: "[0.02, 0.08, 0.3]", alphas: "[0.1, 0.3, 1]", thin: "[0.01, 0.1, 1]",
		costs: "[0.3, 1, 3]", many: "[1, 3, 10]"},
	{line: line{data: "KDD Cup 99", file: "kddcup99_binning", train: kddTrain,
		set: []string{"data.split.test=0.9"}}, rows: "49,402",
		gammas: "[0.5, 1, 2]", smooth: "[0.1, 0.2, 0.4]", alphas: "[0.03, 0.1, 1]", thin: "[0.001, 0.01, 0.1]",
		costs: "[1, 3, 10]", many: "[10, 30, 100]"},
}

// way is a table row: a map, an estimator, and the grid of both.
type way struct {
	name string
	make func(f field) (steps, grid string) // "" if not applicable
}

var ways = []way{
	{"laplacian binning, least squares", func(f field) (string, string) { return f.least("laplacian", f.gammas) }},
	{"— SVM (regression: ε-insensitive)", func(f field) (string, string) {
		if f.regression() {
			return bins("laplacian") + "  - svr: {" + f.loss + "tol: 0.01}\n", gamma(f.gammas) + "    svr.C: " + f.costs + "\n"
		}
		return bins("laplacian") + "  - svm: {loss: hinge, tol: 0.01}\n", gamma(f.gammas) + "    svm.C: " + f.costs + "\n"
	}},
	{"— SVM, squared hinge", func(f field) (string, string) {
		if f.regression() {
			return "", ""
		}
		return bins("laplacian") + "  - svm: {loss: squared_hinge, tol: 0.01}\n",
			gamma(f.gammas) + "    svm.C: " + f.costs + "\n"
	}},
	{"— logistic regression", func(f field) (string, string) {
		if f.regression() {
			return "", ""
		}
		return bins("laplacian") + "  - logistic: {tol: 0.01}\n", gamma(f.gammas) + "    logistic.C: " + f.many + "\n"
	}},
	{"hyperbolic binning, least squares", func(f field) (string, string) { return f.least("hyperbolic", f.gammas) }},
	{"triangular binning, least squares", func(f field) (string, string) { return f.least("triangular", f.gammas) }},
	{"smooth binning, least squares", func(f field) (string, string) {
		if f.wide == "" {
			return "", ""
		}
		return f.least("smooth", f.wide)
	}},
	{"Fourier, least squares", func(f field) (string, string) {
		return "  - rff: {kernel: gaussian, gamma: 1, features: 500}\n  - " + f.ridge() + ": {}\n",
			"    rff.gamma: " + f.smooth + "\n    " + f.ridge() + ".alpha: " + f.thin + "\n"
	}},
	{"Fourier ⊕ laplacian binning, least squares", func(f field) (string, string) {
		return "  - union:\n      parts:\n        - rff: {kernel: gaussian, gamma: 1, features: 200}\n        - binning: " +
				"{gamma: 1, grids: 50}\n      weights: [0.5, 0.5]\n  - " +
				f.ridge() + ": {tol: 1.0e-3}\n",
			"    union.rff.gamma: " + f.smooth + "\n    union.binning.gamma: " + f.gammas + "\n    " + f.ridge() + ".alpha: [" +
				strings.Split(f.alphas, ", ")[1] + "]\n"
	}},
}

func (f field) regression() bool { return f.loss != "" }

func (f field) ridge() string {
	if f.regression() {
		return "ridge"
	}
	return "ridge_classifier"
}

func bins(kernel string) string {
	return fmt.Sprintf("  - binning: {kernel: %s, gamma: 1, grids: 50}\n", kernel)
}

func gamma(list string) string { return "    binning.gamma: " + list + "\n" }

// least is binning and least squares.
func (f field) least(kernel, gammas string) (steps, grid string) {
	return bins(kernel) + "  - " + f.ridge() + ": {tol: 1.0e-3}\n",
		gamma(gammas) + "    " + f.ridge() + ".alpha: " + f.alphas + "\n"
}

// choices runs the comparison and returns the section of the page.
func (t *table) choices(ctx context.Context) (string, error) {
	var out strings.Builder
	out.WriteString(comparison)
	out.WriteString("| |")
	for _, f := range fields {
		fmt.Fprintf(&out, " %s, %s rows |", f.data, f.rows)
	}
	out.WriteString("\n|---|" + strings.Repeat("---:|", len(fields)) + "\n")
	for k, w := range ways {
		fmt.Fprintf(&out, "| %s |", w.name)
		for _, f := range fields {
			r, known, err := t.try(ctx, k, w, f)
			if err != nil {
				return "", err
			}
			if !known {
				out.WriteString(" |")
				continue
			}
			decimals := 2
			if f.file == "kddcup99_binning" {
				decimals = 3
			}
			fmt.Fprintf(&out, " %.*f ± %.*f (%.2g s) |", decimals, 100*r.Search.Best.Mean, decimals, 100*r.Search.Best.Std,
				r.CPU)
		}
		out.WriteString("\n")
	}
	out.WriteString(afterwards)
	return out.String(), nil
}

// try tunes a way on a field.
func (t *table) try(ctx context.Context, number int, w way, f field) (r run, known bool, err error) {
	steps, grid := w.make(f)
	if match, _ := path.Match(t.only, f.file); !match || steps == "" {
		return r, false, nil
	}
	text, err := os.ReadFile(filepath.Join(t.folder, f.file+".yaml"))
	if err != nil {
		return r, false, err
	}
	// Data and scaling of the file, map and estimator of the way.
	scaled, _, ok := strings.Cut(string(text), "  - binning:")
	if !ok {
		return r, false, fmt.Errorf("%s.yaml has no binning step", f.file)
	}
	if f.test == "" {
		scaled = strings.Replace(scaled, "  test: data/"+kddTest+".gz\n", "", 1)
	}
	score := "error_rate"
	if f.regression() {
		score = "relative_rmse"
	}
	file := filepath.Join("runs", "paper", "ways", fmt.Sprintf("%s_%d.yaml", f.file, number))
	where, err := t.locate(f.line)
	if err != nil {
		return r, false, err
	}
	scaled += steps + "\nsearch:\n  grid:\n" + grid + "  folds: 3\n  score: " + score + "\n"
	err = t.memo.recall("way "+f.file+" "+steps+grid, &r, func() error {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(scaled), 0o644); err != nil {
			return err
		}
		r, err = start(ctx, file, append(append(where, f.set...), "output.dir="+strings.TrimSuffix(file, ".yaml"))...)
		return err
	})
	if errors.Is(err, errNotKept) {
		return r, false, nil
	}
	if err == nil {
		fmt.Fprintf(os.Stderr, "%s, %s: %.3g %%, %v, %.1f s\n", f.data, w.name, 100*r.Search.Best.Mean, r.Search.Best.Params,
			r.CPU)
	}
	return r, err == nil, err
}

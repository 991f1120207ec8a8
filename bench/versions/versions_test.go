package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment"
)

// near is how far a prediction may be from the one that an earlier version made with the same model, relative to its
// size. It is not 0: on a processor with other instructions sums are added in another order, and cosines are rounded
// elsewhere. nearSingle is for features in single precision.
const (
	near       = 1e-9
	nearSingle = 1e-4
)

// TestEarlierVersions checks that experiment files and model files of every version can be read,
// and that the models predict the same.
func TestEarlierVersions(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatalf("%d archives of versions, %v", len(archives), err)
	}
	for _, archive := range archives {
		version := strings.TrimSuffix(filepath.Base(archive), ".zip")
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			work := unpack(t, archive)
			experiments, err := filepath.Glob(filepath.Join(work, "experiments", "*.yaml"))
			if err != nil || len(experiments) == 0 {
				t.Fatalf("no experiments, %v", err)
			}
			for _, file := range experiments {
				name := strings.TrimSuffix(filepath.Base(file), ".yaml")
				if _, err := (experiment.LoadOptions{All: true}).Load(context.Background(), file); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				model := strings.TrimSuffix(file, ".yaml") + ".bochner"
				rows, err := rowsOf(name)
				if err != nil {
					t.Fatal(err)
				}
				var now bytes.Buffer
				if _, err := experiment.Predict(context.Background(), model, filepath.Join(work, rows), &now,
					experiment.Options{}); err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				then, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".csv")
				if err != nil {
					t.Fatal(err)
				}
				tolerance := near
				if strings.Contains(name, "float32") {
					tolerance = nearSingle
				}
				if err := sameTable(then, now.Bytes(), tolerance); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// nearFit is the maximum difference of predictions between refits by two versions.
const nearFit = 1e-5

// TestExperimentsMeanTheSame checks that the experiments of earlier versions, run again, give
// models with the same predictions.
func TestExperimentsMeanTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("it has nothing to do with cores and kernels")
	}
	archives, err := filepath.Glob("testdata/*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives, %v", err)
	}
	slices.Reverse(archives)
	type fit struct{ spec, predicted string }
	again := map[fit]bool{} // fits that agreed
	for _, archive := range archives {
		version := strings.TrimSuffix(filepath.Base(archive), ".zip")
		work := unpack(t, archive)
		experiments, err := filepath.Glob(filepath.Join(work, "experiments", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range experiments {
			name := strings.TrimSuffix(filepath.Base(file), ".yaml")
			f := fit{content(t, file), content(t, strings.TrimSuffix(file, ".yaml")+".csv")}
			if again[f] {
				continue
			}
			if err := sameTable([]byte(f.predicted), runAgain(t, work, file, name), nearFit); err != nil {
				t.Errorf("%s: %s: %v", version, name, err)
			}
			again[f] = true
		}
	}
}

// runAgain runs an experiment and returns the predictions of its model.
func runAgain(t *testing.T, work, file, name string) []byte {
	t.Helper()
	ctx, out := context.Background(), filepath.Join(work, "again", name)
	spec, err := experiment.Load(ctx, file, experiment.Override{Path: "output.dir", Value: out},
		experiment.Override{Path: "report.html", Value: "false"})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if _, err := experiment.Run(ctx, spec, experiment.Options{}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	rows, err := rowsOf(name)
	if err != nil {
		t.Fatal(err)
	}
	var now bytes.Buffer
	if _, err := experiment.Predict(ctx, filepath.Join(out, "model.bochner"), filepath.Join(work, rows), &now,
		experiment.Options{}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return now.Bytes()
}

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A difference that matters is seen.
func TestSameTable(t *testing.T) {
	const then = "row,prediction,std\n0,red,0.5\n1,blue,2\n"
	for now, same := range map[string]bool{
		then: true,
		"row,prediction,std,lower\n0,red,0.5,1\n1,blue,2,1\n":  true, // there may be more columns
		"std,prediction,row\n0.5,red,0\n2,blue,1\n":            true,
		"row,prediction,std\n0,red,0.5\n1,blue,2.0000000001\n": true,
		"row,prediction,std\n0,red,0.5\n1,blue,2.00000001\n":   false,
		"row,prediction,std\n0,red,0.5\n1,blue,NaN\n":          false,
		"row,prediction,std\n0,red,0.5\n1,red,2\n":             false,
		"row,prediction\n0,red\n1,blue\n":                      false,
		"row,prediction,std\n0,red,0.5\n":                      false,
	} {
		if err := sameTable([]byte(then), []byte(now), near); (err == nil) != same {
			t.Errorf("%q: %v", now, err)
		}
	}
}

// unpack extracts an archive into a directory with the data.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	r, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	work := t.TempDir()
	if err := os.CopyFS(filepath.Join(work, "experiments"), r); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(work, "rows"), os.DirFS("rows")); err != nil {
		t.Fatal(err)
	}
	return work
}

// sameTable returns how a table of predictions differs from an earlier one, whose columns it has to have.
func sameTable(then, now []byte, tolerance float64) error {
	before, err := csv.NewReader(bytes.NewReader(then)).ReadAll()
	if err != nil {
		return err
	}
	after, err := csv.NewReader(bytes.NewReader(now)).ReadAll()
	if err != nil {
		return err
	}
	if len(before) != len(after) {
		return fmt.Errorf("%d lines, there were %d", len(after), len(before))
	}
	for j, column := range before[0] {
		at := slices.Index(after[0], column)
		if at < 0 {
			return fmt.Errorf("no column %s among %q", column, after[0])
		}
		for i := range before {
			if !same(before[i][j], after[i][at], tolerance) {
				return fmt.Errorf("row %d, column %s: %s, it was %s", i, column, after[i][at], before[i][j])
			}
		}
	}
	return nil
}

// same reports whether two fields are equal strings or nearly equal numbers.
func same(then, now string, tolerance float64) bool {
	if then == now {
		return true
	}
	a, wrong := strconv.ParseFloat(then, 64)
	b, err := strconv.ParseFloat(now, 64)
	return wrong == nil && err == nil && math.Abs(a-b) <= tolerance*max(1, math.Abs(a))
}

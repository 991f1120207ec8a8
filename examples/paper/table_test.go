package main

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every line of the tables has a file of its size.
func TestEveryLineHasItsFile(t *testing.T) {
	for _, l := range append(lines, line{file: "covtype_svm", size: "P = 50"}) {
		text, err := os.ReadFile(l.file + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		size := strings.NewReplacer("D = ", "features: ", "P = ", "grids: ").Replace(l.size)
		if !strings.Contains(string(text), size+"}") {
			t.Errorf("%s.yaml has not %s", l.file, size)
		}
	}
}

func TestCensus(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := os.Create("574_house_16H.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(f)
	zipped.Write([]byte("P1\tH2\ttarget\n1\t2\t1\n3\t4\t0\n5\t6\t100\n"))
	if err := errors.Join(zipped.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	path, err := (&table{data: "."}).census()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := "P1,H2,log_price\n1,2,0\n5,6,4.605170185988092\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestPageFromMemory checks that stored results are reused, and that the page has their mean and
// deviation.
func TestPageFromMemory(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a9a", "a9a.t"} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(folder, "log.jsonl")
	for range 2 {
		m := memo{}
		if err := m.open(log); err != nil {
			t.Fatal(err)
		}
		tab := table{folder: ".", data: folder, only: "a9a", seeds: 2, memo: m}
		made := func(key string, wrong, seconds float64) {
			var r run
			err := m.recall(key, &r, func() error {
				r.Test, r.CPU, r.Memory = map[string]float64{"accuracy": 1 - wrong}, seconds, 5e7
				return json.Unmarshal([]byte(`{"search": {"best": {"params": {"rff.gamma": 0.5}}}}`), &r)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		made("search a9a 1", 0, 0)
		made("a9a [] 1 [rff.gamma=0.5 search=]", 0.14, 3)
		made("a9a [] 2 [rff.gamma=0.5 search=]", 0.16, 5)
		m.close()
		if err := m.open(log); err != nil {
			t.Fatal(err)
		}
		tab.memo = m
		page, err := tab.page(context.Background())
		m.close()
		if err != nil {
			t.Fatal(err)
		}
		if want := "| 14.9 | 9 s | **15.00** ± 1.41 | 4 s | 50 MB |"; !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if mean, sd := moments([]float64{1, 2, 3}); mean != 2 || math.Abs(sd-1) > 1e-15 ||
		median([]float64{3, 1, 2, 9}) != 2.5 {
		t.Errorf("mean %v, deviation %v", mean, sd)
	}
}

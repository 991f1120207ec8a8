package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestIris(t *testing.T) {
	var out strings.Builder
	if err := iris(&out, filepath.Join("..", "..", "datasets", "builtin", "data")); err != nil {
		t.Fatal(err)
	}
	var accuracy float64
	if _, err := fmt.Sscanf(out.String(), "iris: accuracy %f in 5 folds", &accuracy); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	if accuracy < 0.85 {
		t.Errorf("accuracy %v", accuracy)
	}
}

func TestAdult(t *testing.T) {
	var out strings.Builder
	if err := adult(&out, filepath.Join("..", "..", "datasets", "builtin", "data")); err != nil {
		t.Fatal(err)
	}
	var accuracy float64
	if _, err := fmt.Sscanf(out.String(), "adult: accuracy %f on the test rows", &accuracy); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	if accuracy < 0.853 {
		t.Errorf("accuracy %v", accuracy)
	}
}

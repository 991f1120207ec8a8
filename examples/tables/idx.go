package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/bochner-ml/bochner/datasets"
	"gonum.org/v1/gonum/mat"
)

// images reads a file of images and the one of their digits, in the format idx.
func images(folder, pixels, digits string) (datasets.Set, error) {
	shape, values, err := readIDX(folder, pixels)
	if err != nil {
		return datasets.Set{}, err
	}
	count, labels, err := readIDX(folder, digits)
	if err != nil {
		return datasets.Set{}, err
	}
	if len(count) != 1 || len(shape) < 2 || shape[0] != count[0] || count[0] == 0 {
		return datasets.Set{}, fmt.Errorf("%s is of shape %v and %s of %v: must have a digit for each image", pixels, shape,
			digits, count)
	}
	X := make([]float64, len(values))
	for i, v := range values {
		X[i] = float64(v)
	}
	Y := make([]float64, len(labels))
	for i, digit := range labels {
		if digit > 9 {
			return datasets.Set{}, fmt.Errorf("%s: label %d must be a digit, got %d", digits, i, digit)
		}
		Y[i] = float64(digit)
	}
	width := len(values) / shape[0]
	var schema datasets.Schema
	for _, name := range numbered(width) {
		schema.Columns = append(schema.Columns, datasets.Column{Name: name})
	}
	schema.Targets = []datasets.Column{{Name: "digit", Kind: datasets.Categorical,
		Categories: strings.Split("0123456789", "")}}
	return datasets.Set{X: mat.NewDense(shape[0], width, X), Y: Y, Schema: schema}, nil
}

// readIDX reads bytes and their shape: two zeros, 8 for bytes, the number of dimensions, each as four
// bytes, and the values.
func readIDX(folder, name string) (shape []int, values []byte, err error) {
	path, err := file(folder, name)
	if err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		text, err = unzip(text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) < 4 || !bytes.Equal(text[:3], []byte{0, 0, 8}) || len(text) < 4+4*int(text[3]) {
		return nil, nil, fmt.Errorf("%s is no idx file of bytes", path)
	}
	size := 1
	for k := range int(text[3]) {
		shape = append(shape, int(binary.BigEndian.Uint32(text[4+4*k:])))
		size *= shape[k]
	}
	values = text[4+4*len(shape):]
	if size != len(values) {
		return nil, nil, fmt.Errorf("%[1]s must have %[3]v values, got %[2]d", path, len(values), shape)
	}
	return shape, values, nil
}

func unzip(text []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

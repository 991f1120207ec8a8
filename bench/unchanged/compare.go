package main

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// compare returns a line for each file, or array of the model file, in which two runs differ.
func compare(old, now map[string][]byte) ([]string, error) {
	before, err := parts(old)
	if err != nil {
		return nil, err
	}
	after, err := parts(now)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, had := before[name]
		b, has := after[name]
		switch {
		case !has:
			out = append(out, name+": is not written any more")
		case !had:
			out = append(out, name+": is new")
		case !bytes.Equal(a, b):
			out = append(out, name+": "+difference(name, a, b))
		}
	}
	return out, nil
}

// parts returns the outputs without values that differ between two runs of the same program; the
// model file is split into its entries.
func parts(written map[string][]byte) (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, content := range written {
		var err error
		switch name {
		case "result.json":
			out[name], err = without(content, "seconds", "peak_memory_bytes", "versions")
		case "cv_results.csv":
			out[name], err = withoutSeconds(content)
		case "model.bochner":
			err = unzip(out, content)
		default:
			out[name] = content
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

func without(text []byte, keys ...string) ([]byte, error) {
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, err
	}
	for _, key := range keys {
		delete(object, key)
	}
	return json.MarshalIndent(object, "", " ")
}

// withoutSeconds removes the columns with times.
func withoutSeconds(text []byte) ([]byte, error) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	var kept [][]string
	for _, row := range rows {
		var fields []string
		for j, field := range row {
			if !strings.Contains(rows[0][j], "seconds") {
				fields = append(fields, field)
			}
		}
		kept = append(kept, fields)
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	err = w.WriteAll(kept)
	return b.Bytes(), err
}

// unzip adds the entries of a model file.
func unzip(out map[string][]byte, content []byte) error {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return err
	}
	for _, entry := range archive.File {
		file, err := entry.Open()
		if err != nil {
			return err
		}
		text, err := io.ReadAll(file)
		if err != nil {
			return err
		}
		if entry.Name == "model.json" {
			if text, err = without(text, "versions", "sha256"); err != nil {
				return err
			}
		}
		out["model.bochner/"+entry.Name] = text
	}
	return nil
}

var number = regexp.MustCompile(`[-+]?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?`)

// difference returns the largest relative difference of numbers if all else is equal, otherwise the
// first differing position.
func difference(name string, a, b []byte) string {
	var x, y []float64
	if strings.HasSuffix(name, ".npy") {
		x, y = floats(a), floats(b)
	} else if bytes.Equal(number.ReplaceAll(a, nil), number.ReplaceAll(b, nil)) {
		x, y = numbers(a), numbers(b)
	}
	if len(x) == 0 || len(x) != len(y) {
		at := 0
		for at < len(a) && at < len(b) && a[at] == b[at] {
			at++
		}
		return fmt.Sprintf("other content from byte %d: %s | %s", at, excerpt(a, at), excerpt(b, at))
	}
	count, most := 0, 0.0
	scale := 0.0
	for i := range x {
		scale = max(scale, math.Abs(x[i]))
	}
	for i := range x {
		if x[i] != y[i] {
			count++
			most = max(most, math.Abs(x[i]-y[i])/scale)
		}
	}
	return fmt.Sprintf("%d of %d numbers differ, by %.2g of the largest at most", count, len(x), most)
}

func excerpt(text []byte, at int) string {
	return strconv.Quote(string(text[max(0, at-20):min(len(text), at+20)]))
}

func numbers(text []byte) []float64 {
	var out []float64
	for _, word := range number.FindAll(text, -1) {
		v, _ := strconv.ParseFloat(string(word), 64) // the expression has checked it
		out = append(out, v)
	}
	return out
}

// floats are the values of a .npy file of doubles; nil for other types.
func floats(file []byte) []float64 {
	header := bytes.IndexByte(file, '\n')
	if header < 0 || !bytes.Contains(file[:header], []byte("'<f8'")) {
		return nil
	}
	data := file[header+1:]
	out := make([]float64, len(data)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(data[8*i:]))
	}
	return out
}

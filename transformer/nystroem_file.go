package transformer

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// readLandmarks returns the rows of a CSV file of numbers, with as many columns as the inputs. If
// the first line is a header, columns are found by the names of the inputs and others are ignored.
func readLandmarks(path string, schema datasets.Schema, width int) (*mat.Dense, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	columns := make([]int, width)
	for j := range columns {
		columns[j] = j
	}
	var rows []float64
	named := false
	reader := csv.NewReader(file)
	for line := 1; ; line++ {
		record, err := reader.Read()
		switch {
		case errors.Is(err, io.EOF) && len(rows) > 0:
			return mat.NewDense(len(rows)/width, width, rows), nil
		case errors.Is(err, io.EOF):
			return nil, datasets.ErrEmpty
		case err != nil:
			return nil, err
		}
		if _, notNumber := strconv.ParseFloat(strings.TrimSpace(record[0]), 64); line == 1 && notNumber != nil {
			named = true
			for j := range columns {
				if columns[j] = slices.Index(record, schema.Name(j)); columns[j] < 0 {
					return nil, fmt.Errorf("line 1: no column %s", schema.Name(j))
				}
			}
			continue
		}
		if !named && len(record) != width {
			return nil, fmt.Errorf("line %d: must have %d columns, got %d", line, width, len(record))
		}
		for _, column := range columns {
			v, err := strconv.ParseFloat(strings.TrimSpace(record[column]), 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: must be numbers, got %q", line, record[column])
			}
			rows = append(rows, v)
		}
	}
}

package predictions

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/bochner-ml/bochner/internal/runtime/files"
)

// Reader reads the output of [Writer] row by row.
type Reader struct {
	Targets []string // names of several targets; otherwise one ""
	Truth   bool     // whether the file has columns of true values

	path          string
	file          *os.File
	rows          *csv.Reader
	truth, output []int // columns of each target
	record        Record
}

// Record is one row.
type Record struct {
	Row         int
	Truth, Said []string // for each target; valid until the next call of Next
}

// Open opens a file of predictions.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing", path)
	}
	if err != nil {
		return nil, files.Tell(err)
	}
	r := &Reader{path: path, file: file, rows: csv.NewReader(file)}
	r.rows.ReuseRecord = true
	if err := r.header(); err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// header finds the columns of true values and predictions.
func (r *Reader) header() error {
	head, err := r.rows.Read()
	if err == io.EOF {
		return fmt.Errorf("%s is empty", r.path)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	if head[0] != "row" {
		return fmt.Errorf("%s: the first column must be row, got %s", r.path, head[0])
	}
	if at := slices.Index(head, "prediction"); at > 0 {
		r.Targets, r.output = []string{""}, []int{at}
		if at := slices.Index(head, "truth"); at > 0 {
			r.truth = []int{at}
		}
	} else {
		for at, name := range head {
			if target, is := strings.CutPrefix(name, "prediction_"); is {
				r.Targets, r.output = append(r.Targets, target), append(r.output, at)
				if at := slices.Index(head, "truth_"+target); at > 0 {
					r.truth = append(r.truth, at)
				}
			}
		}
	}
	if len(r.output) == 0 {
		return fmt.Errorf("%s is missing the column prediction", r.path)
	}
	r.Targets = slices.Clone(r.Targets)
	for k, name := range r.Targets {
		r.Targets[k] = strings.Clone(name)
	}
	if r.Truth = len(r.truth) == len(r.output); !r.Truth {
		r.truth = nil
	}
	r.record = Record{Truth: make([]string, len(r.truth)), Said: make([]string, len(r.output))}
	return nil
}

// Next reads a row. The error is [io.EOF] after the last one.
func (r *Reader) Next() (Record, error) {
	fields, err := r.rows.Read()
	if err == io.EOF {
		return Record{}, err
	}
	if err != nil {
		return Record{}, fmt.Errorf("%s: %w", r.path, err)
	}
	if r.record.Row, err = strconv.Atoi(fields[0]); err != nil {
		return Record{}, r.Errorf("the number of a row is %q", fields[0])
	}
	for k, at := range r.truth {
		r.record.Truth[k] = fields[at]
	}
	for k, at := range r.output {
		if r.record.Said[k] = fields[at]; fields[at] == "" {
			return Record{}, r.Errorf("row %d has no prediction", r.record.Row)
		}
	}
	return r.record, nil
}

// Errorf returns an error with the location of the last row.
func (r *Reader) Errorf(format string, args ...any) error {
	line, _ := r.rows.FieldPos(0)
	return fmt.Errorf("%s:%d: %s", r.path, line, fmt.Sprintf(format, args...))
}

// Close closes the file.
func (r *Reader) Close() error { return r.file.Close() }

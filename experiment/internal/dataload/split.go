package dataload

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/experiment/internal/config"
	"github.com/bochner-ml/bochner/internal/rows/rowsource"
)

// Split takes test rows out of the training rows, the same ones whether they are in memory or not.
func (p *Parts) Split(ctx context.Context, spec config.Spec) error {
	only, err := Outline(ctx, p.Train, spec.Data.Split.Stratify || spec.Data.Group != "")
	if err != nil {
		return err
	}
	folds, err := spec.TestRows(only.Groups != nil).Split(only)
	if err != nil {
		return err
	}
	train, test := folds[0].Train, folds[0].Test
	p.Numbers, p.places = test, slices.Concat(train, test)
	if p.Streamed {
		all := p.Train
		if p.Train, err = rowsource.Subset(all, train); err != nil {
			return err
		}
		p.Test, err = rowsource.Subset(all, test)
		return err
	}
	all, err := datasets.ReadAll(ctx, p.Train)
	if err != nil {
		return err
	}
	p.Train, p.Test = all.Select(train).Source(), all.Select(test).Source()
	return nil
}

// Held reports whether the test rows were taken out of the training rows by Split.
func (p *Parts) Held() bool { return p.places != nil }

// Rejoined returns the training and test rows in their order before Split.
func (p *Parts) Rejoined(ctx context.Context) (datasets.Set, error) {
	train, err := datasets.ReadAll(ctx, p.Train)
	if err != nil {
		return train, err
	}
	test, err := datasets.ReadAll(ctx, p.Test)
	if err != nil {
		return test, err
	}
	both, err := train.Append(test)
	if err != nil {
		return both, err
	}
	order := make([]int, len(p.places))
	for k, place := range p.places {
		order[place] = k
	}
	return both.Select(order), nil
}

// SkippedRows returns the rows of a file that its source leaves out, and warns of them.
func (p *Parts) SkippedRows(source datasets.Source, file string) []int {
	partial, ok := source.(rowsource.FilteredSource)
	if !ok || len(partial.SkippedRows()) == 0 {
		return nil
	}
	left := partial.SkippedRows()
	n, _ := source.Dims()
	p.Warnings = append(p.Warnings, fmt.Sprintf("%s: %d of %d rows have no target and are left out", file, len(left),
		n+len(left)))
	return left
}

// InFile turns numbers among the rows that are left into numbers of rows in the file.
func InFile(numbers, left []int) []int {
	out := make([]int, len(numbers))
	for i, k := range numbers {
		// left[i] − i retained rows precede row left[i].
		out[i] = k + sort.Search(len(left), func(i int) bool { return left[i]-i > k })
	}
	return out
}

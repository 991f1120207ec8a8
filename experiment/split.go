package experiment

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
)

// split takes test rows out of the training rows, the same ones whether they are in memory or not.
func (s Spec) split(ctx context.Context, r *rows) error {
	only, err := outline(ctx, r.train, s.Data.Split.Stratify || s.Data.Group != "")
	if err != nil {
		return err
	}
	folds, err := s.splitter(only).Split(only)
	if err != nil {
		return err
	}
	train, test := folds[0].Train, folds[0].Test
	r.numbers = test
	if r.streamed {
		all := r.train
		if r.train, err = datasets.Subset(all, train); err != nil {
			return err
		}
		r.test, err = datasets.Subset(all, test)
		return err
	}
	all, err := datasets.Gather(ctx, r.train)
	if err != nil {
		return err
	}
	r.train, r.test = all.Select(train).Source(), all.Select(test).Source()
	return nil
}

// splitter takes out the test rows.
func (s Spec) splitter(stand datasets.Set) datasets.TrainTest {
	return datasets.TrainTest{
		Test: s.Data.Split.Test, Shuffle: s.Data.Split.Shuffle, Stratify: s.Data.Split.Stratify,
		Group: stand.Groups != nil, Seed: s.seedOf("data.split"),
	}
}

// outline returns what a splitter looks at, with a stand-in for the inputs. Targets and groups are
// read where they are wanted, or where the source does not know how many rows it has.
func outline(ctx context.Context, source datasets.Source, wanted bool) (datasets.Set, error) {
	n, d := source.Dims()
	out := datasets.Set{Schema: source.Schema(), X: blank{n, d}}
	if n >= 0 && !wanted {
		return out, nil
	}
	if len(out.Schema.Targets) == 1 {
		out.Y = make([]float64, 0, max(n, 0))
	}
	var several matrixRows
	n = 0
	err := source.Blocks(ctx, func(block datasets.Set) error {
		n += block.Rows()
		out.Y = append(out.Y, block.Y...)
		out.Groups = append(out.Groups, block.Groups...)
		several.add(block.Targets, max(n, 0))
		return nil
	})
	out.Targets = several.dense()
	out.X = blank{n, d}
	return out, err
}

// blank is a matrix of zeros that takes no memory, in the place of rows.
type blank struct{ rows, cols int }

func (b blank) Dims() (rows, cols int) { return b.rows, b.cols }

func (b blank) At(i, j int) float64 { return 0 }

func (b blank) T() mat.Matrix { return mat.Transpose{Matrix: b} }

// Finite spares [datasets.Set.Check] to look at every zero.
func (b blank) Finite() bool { return true }

// sparseBlank is blank in the place of sparse rows.
type sparseBlank struct {
	blank
	entries int
}

// NNZ is the number of entries of the rows that are stood for.
func (b sparseBlank) NNZ() int { return b.entries }

package pipeline

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/transformer"
)

// fitFamily fits a family to the training rows. It returns nil if the features of its widest map
// would exceed the memory limit.
func (s *sweep) fitFamily(ctx context.Context, family []*node, d foldRows) (*transformer.Family, error) {
	if familyBytes(family, datasets.Shape{Rows: d.set.Rows(), Cols: d.set.Cols()}) > s.Memory {
		return nil, nil
	}
	maps, err := family[0].step.Fitter.(transformer.FamilyFitter).FitFamily(ctx, d.trainSet(), stepsOf(family))
	if err == nil && len(maps.Members) != len(family) {
		err = fmt.Errorf("a family of %d maps has %d members", len(family), len(maps.Members))
	}
	return maps, err
}

// wideRows returns the rows mapped by a wide map of the family.
func (s *sweep) wideRows(ctx context.Context, maps *transformer.Family, which int, d foldRows) (foldRows, error) {
	var learned mat.Matrix
	rest := d.set
	if maps.Fitted != nil {
		learned, rest = maps.Fitted[which], d.testSet()
	}
	var whole mat.Matrix
	err := maps.Each(ctx, rest.X, []int{which}, func(_ int, Z mat.Matrix) error {
		whole = concatRows(learned, Z)
		if n, width := whole.Dims(); n != d.set.Rows() || width != maps.Widths()[which] {
			return fmt.Errorf("%d×%d features for %d rows, %d were promised", n, width, d.set.Rows(), maps.Widths()[which])
		}
		return nil
	})
	if err != nil {
		return d, err
	}
	d.set.X, d.set.Schema = whole, d.set.Schema.WithColumns(nil)
	return d, nil
}

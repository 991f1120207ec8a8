package network

import (
	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
)

// Measured costs in CPU time, in units of flops of a large float64 matrix product.
const (
	usualEpochs  = 60  // typical number of epochs
	featureFlops = 100 // per feature and row, in addition to its products: sine, cosine, and memory access
	outputFlops  = 70  // per feature and output after the first
	rowFlops     = 10_000
	stepFlops    = 40 // per weight and step
)

// Cost estimates a fit to rows of a shape.
func (s Spec) Cost(shape datasets.Shape) datasets.Cost {
	n, d, D, L, q := float64(shape.Rows), float64(shape.Cols), float64(s.Features), float64(s.Layers),
		float64(max(shape.Outputs, 1))
	// Products are float32, at half the cost: one forward and one backward; upper layers have two
	// backward products.
	products, elementwise := 6*shape.Entries()*D+3*(L-1)*D*D, outputFlops*(q-1)*D+featureFlops*L*D+rowFlops
	weights := d*D + (L-1)*D*D + L*D + q*D
	batch := float64(s.minibatch(max(shape.Rows, 1)))
	steps := n / batch
	relevance := 2 * min(n, relevanceRows) * q * D * (d + (L-1)*D)
	buf := (2*L*D + d + 3*q) * (tileRows + batch)
	epochs := min(usualEpochs, float64(s.Epochs))
	elementwise = epochs * (n*elementwise + steps*stepFlops*weights)
	trained := epochs*n*products + elementwise
	return datasets.Cost{
		OutputWidth: max(shape.Outputs, 1),
		Flops:       trained + relevance, Bytes: design.Float64Bytes((1.5*shape.Entries()+2*q+6)*n + (4.5+4)*weights + buf/2),
	}
}

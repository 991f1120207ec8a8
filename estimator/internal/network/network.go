// Package network trains networks of random Fourier features: frequencies and phases start as a
// random draw for a kernel and are trained together with a linear head. Inputs and outputs are
// numeric columns.
//
// A layer of D features maps its d inputs, and the head computes q outputs from the last layer:
//
//	z = sqrt(2/D)·cos(Wᵀx + b),  W = diag(s)·U,  f = Vᵀz + c
//
// where U (d×D) are the drawn frequencies, b the drawn phases, and s the scales given by the γ of
// the kernel. With row weights r and a loss l, training minimizes
//
//	Σ r_i·l(y_i, f(x_i)) + alpha·‖V‖²
//
// by minibatches and Adam, over V and c, and U, b and log s if they are trained. Every feature has
// its own frequency and phase. In the paired map, the head determines the phase of each pair, so
// phases would not be parameters, and D features would have only D/2 frequencies.
//
// [Spec] contains the parameters, [Data] the rows, and [Spec.Fit] returns a [Model]. Training uses
// float32, at half the cost, and prediction float64. The relevance of the inputs is computed after
// training, from the gradients of the outputs at a sample of rows.
//
// Sources: Rahimi and Recht, "Random features for large-scale kernel machines", NIPS 2007, for the
// draw; Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015.
package network

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/internal/features/fourier"
	"github.com/bochner-ml/bochner/internal/features/spectral"
)

// Loss is the loss of a row.
type Loss int

// Losses. Squares has numeric targets and the loss Σ (y − f)². Logistic has targets 0 or 1 and the
// loss log(1 + exp(f)) − y·f. Softmax has targets 1 for the class of the row and 0 for the others,
// and the loss log Σ exp(f) − f_y.
const (
	Squares Loss = iota
	Logistic
	Softmax
)

// Spec contains the parameters of a network and its training.
type Spec struct {
	Kernel   spectral.Kernel
	Scales   []float64 // d, scales of the inputs of the first layer: [spectral.Kernel.Factors] of γ
	Layers   int
	Features int // D of each layer

	TrainScales, TrainFrequencies, TrainPhases bool

	Alpha    float64
	Rate     float64 // initial learning rate
	Epochs   int     // maximum number of passes over the training rows
	Batch    int     // rows per minibatch; 0 selects it by the number of rows
	HeldOut  float64 // fraction of the rows held out for early stopping; 0 for none
	Patience int     // epochs without improvement after which the rate is reduced
	Seed     uint64
}

// Data contains the training rows and their targets.
type Data struct {
	X       mat.Matrix // n×d, a *mat.Dense or *matrices.CSR
	Y       []float64  // n×Outputs
	Outputs int
	Weights []float64 // n, all positive
	Loss    Loss
	Class   []int // n, class index of each row, nil for regression
}

// Layer is a trained layer.
type Layer struct {
	W *mat.Dense // d×D
	B []float64  // D
}

// Model is a trained network.
type Model struct {
	Layers    []Layer
	Head      *mat.Dense // outputs × D
	Intercept []float64  // outputs
	Relevance []float64  // d, relevance of each input, at most 1; nil if no input is relevant
	Report    Report
	maps      []fourier.Map
}

// Report describes the training.
type Report struct {
	Epochs    int
	Best      int     // epoch whose weights were kept, 0 for the start
	Plateau   bool    // whether it ended because the objective stopped improving
	Objective float64 // mean over the training rows
	HeldOut   float64 // mean loss on the validation rows, or the objective if there are none
}

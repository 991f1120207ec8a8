package main

// Text of the page around its tables.
const (
	opening = `# The paper's table

<!-- made by go run ./examples/paper; change the program, not the page -->

This page repeats table 1 of Rahimi and Recht, *Random features for large-scale kernel machines* (NIPS 2007): random
Fourier features and random binning with least squares on five data sets. Each row links an experiment file with the
same D or P. Cross-validation on the training rows selects γ, the penalty and the input scales. For Forest Cover the
search *ranges* were widened after test errors had been seen, so its errors are slightly optimistic.

Errors are error rates in percent; for CPU and Census 100·‖y − ŷ‖/‖y‖. CPU time is the median of complete runs over all
cores: loading, fitting and scoring. Memory is the peak of such a run.

![Kernel matrices of 150 points on an S-shaped surface, exact and by random features](paper-matrices.svg)

![Error of random features against their number, with bounds](paper-kernel-error.svg)

`
	remarks = `
The command ` + "`go run ./examples/paper -data DIR -out docs/paper.md`" + ` makes this page.

Differences from the paper's data:

- **CPU**: the original test rows are unknown; each seed draws a fifth of the 8,192 rows.
- **Census**: house_16H, 16 inputs of the same census instead of 119. The target is the logarithm of the price without
  52 rows of price 0, so errors are not comparable.
- **Forest Cover**: 80,000 training rows instead of 522,000, and 12,962 test rows. Binning needs the rows: 2.2 % is out of
  reach.
- **KDD Cup 99**: the published 10 % sample instead of 4.9 million rows, and the labeled test set of the competition, which
  contains kinds of attack absent from training.

The paper's times are from 2007; ours use two cores.

## Binning with a support vector machine

The Forest Cover rows again, with a linear SVM (hinge loss) on binning features. An exact gaussian SVM (LIBSVM, γ = 32,
C = 10) has an error of 8.30 % after 430 s on a similar host. γ is searched for each P; from P = 100 on, bins with one
row are dropped. Seven classes are fitted one-vs-rest on the same features.

`
	closing = `
![Test error and time to fit against the number of grids](paper-grids.svg)

![Test error and time to fit against the number of training rows](paper-rows.svg)

The scales of the inputs matter most. With γ = 4 for all inputs in [0, 1] and P = 50 the error is about 9.0 %; with
the elevation scaled by eight 7.5 %. Other models and kernels, and scikit-learn:
[tables](../bench/results/paper-models.md).
`

	sklearnHeader = `
## scikit-learn

RBFSampler with least squares, and exact SVC and SVR on as many training rows as take about a minute
(examples/paper/peers.py, same run). Parameters are close to those found above. Times are of the fit only.

| data | method | training rows | error | CPU time, fit |
|---|---|---:|---:|---:|
`

	comparison = `# Models, pitch distributions, mixtures on the paper's data

Three-fold cross-validation on training rows: the lowest error of a small grid of γ and the penalty, its standard
deviation over the folds, and the CPU time of the search. Binning uses P = 50 grids, Fourier features D = 500, and the
mixture D = 200 with a kernel that is half gaussian, half laplacian. Larger sets are subsampled.

`
	afterwards = `
The command ` + "`go run ./examples/paper -data DIR -ways -sklearn -out bench/results/paper-models.md`" + ` makes this page. The
models differ little; the best pitch distribution depends on the data set. On Forest Cover the scales of the
inputs matter more. The experiment files are written to runs/paper/ways.
`
)

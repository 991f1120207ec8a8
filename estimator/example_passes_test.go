package estimator_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/model"
)

// Incremental sums: later rows are added to an existing pass. The model is that of all rows, none
// of which is stored.
func ExamplePassEstimator() {
	ctx, spec := context.Background(), estimator.NewRidge()
	spec.Alpha = 0.5
	pass, err := spec.Start(ctx, line.Schema, 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, day := range []datasets.Set{line.Slice(0, 3), line.Slice(3, 5)} {
		if err := pass.Add(ctx, day); err != nil {
			log.Fatal(err)
		}
		fitted, err := spec.Finish(ctx, pass)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("slope %.3f\n", fitted.(*estimator.FittedLinear).Coef().At(0, 0))
	}
	// Output:
	// slope 1.600
	// slope 1.905
}

// Two hosts each add a part of the rows, and send their pass as a file. Estimators with several
// passes start each on both hosts from the result of Next.
func ExamplePassEstimator_parts() {
	ctx, spec := context.Background(), estimator.NewRidge()
	learn := func(part datasets.Set) []byte {
		pass, err := spec.Start(ctx, line.Schema, 1)
		if err == nil {
			err = pass.Add(ctx, part)
		}
		if err != nil {
			log.Fatal(err)
		}
		var file bytes.Buffer
		if err := model.Write(&file, pass); err != nil {
			log.Fatal(err)
		}
		return file.Bytes()
	}
	receive := func(file []byte) datasets.Pass {
		pass, err := spec.Start(ctx, line.Schema, 1)
		if err == nil {
			err = model.Read(bytes.NewReader(file), int64(len(file)), pass)
		}
		if err != nil {
			log.Fatal(err)
		}
		return pass
	}
	all := receive(learn(line.Slice(0, 3)))
	if err := all.Merge(ctx, receive(learn(line.Slice(3, 5)))); err != nil {
		log.Fatal(err)
	}
	if next, err := all.Next(ctx); err != nil || next != nil {
		log.Fatal("one pass should do: ", err)
	}
	fitted, err := spec.Finish(ctx, all)
	if err != nil {
		log.Fatal(err)
	}
	y, err := fitted.Predict(ctx, mat.NewDense(1, 1, []float64{10}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("at 10: %.2f\n", y[0])
	// Output: at 10: 19.18
}

// A warm start from the model of yesterday's rows reduces the passes over all rows.
func ExampleLogistic_StartFrom() {
	ctx, spec := context.Background(), estimator.NewLogistic()
	yesterday, err := spec.Fit(ctx, petals.Slice(1, 6))
	if err != nil {
		log.Fatal(err)
	}
	first, err := spec.StartFrom(ctx, yesterday, petals.Schema, 2)
	if err != nil {
		log.Fatal(err)
	}
	last, err := datasets.Scan(ctx, first, petals.Source())
	if err != nil {
		log.Fatal(err)
	}
	fitted, err := spec.Finish(ctx, last)
	if err != nil {
		log.Fatal(err)
	}
	p, err := estimator.Predict(ctx, fitted, mat.NewDense(1, 2, []float64{5.6, 2.2}),
		estimator.Request{Outputs: estimator.OutputProbabilities})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("virginica %.2f\n", p.Probabilities.At(0, 1))
	// Output: virginica 0.69
}

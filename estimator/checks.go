package estimator

import (
	"context"
	"fmt"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/internal/design"
	"github.com/bochner-ml/bochner/internal/memory"
)

// forNumbers refuses targets that are the codes of classes: a regression on them would take the
// classes for amounts.
func forNumbers(schema datasets.Schema, name string) error {
	instead := map[string]string{"ridge": "ridge_classifier (estimator.NewRidgeClassifier)", "svr": "svm (estimator.NewSVM)",
		"sgd_regressor": "sgd_classifier (estimator.NewSGDClassifier)",
		"kernel_ridge":  "kernel_ridge_classifier (estimator.NewKernelRidgeClassifier)", "gaussian_process": "kernel_ridge_classifier (estimator.NewKernelRidgeClassifier)"}[name]
	for _, c := range schema.Targets {
		if c.Kind == datasets.Categorical {
			return fmt.Errorf("the target %s has classes, and %s is for numbers; %s is for classes", c.Name, name, instead)
		}
	}
	return nil
}

// readNumbers is readLabels for a regression.
func readNumbers(ctx context.Context, r *design.Rows, name string) (*design.Labels, error) {
	if err := forNumbers(r.Schema, name); err != nil {
		return nil, err
	}
	return r.ReadLabels(ctx)
}

// room refuses a fit that would hold more memory than there is. Every fit asks before it begins.
func room(spec datasets.Coster, shape datasets.Shape) error {
	return memory.Check(spec.Cost(shape).Bytes)
}

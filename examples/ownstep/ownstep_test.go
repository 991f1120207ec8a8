package main

import (
	"testing"

	"github.com/bochner-ml/bochner/estimator/estimatortest"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

func TestSignedLog(t *testing.T) {
	transformertest.Run(t, NewSignedLog(), transformertest.Options{})
}

func TestClassMeans(t *testing.T) {
	for _, classes := range []int{2, 4} {
		estimatortest.Run(t, NewClassMeans(), estimatortest.Options{Classes: classes, Tolerance: 1e-9})
	}
}

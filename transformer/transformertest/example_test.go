package transformertest_test

import (
	"testing"

	"github.com/bochner-ml/bochner/transformer"
	"github.com/bochner-ml/bochner/transformer/transformertest"
)

// The test of a step of one's own is one call.
func TestStandardizeConformance(t *testing.T) {
	transformertest.Run(t, transformer.NewStandardize(), transformertest.Options{
		Missing:   true,
		DenseOnly: true,
	})
}

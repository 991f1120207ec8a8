package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
)

// TestShowRelevance checks that inputs that are not listed are counted, with those of relevance 0.
func TestShowRelevance(t *testing.T) {
	r := result.Relevance{Step: "ard"}
	for i := range 30 {
		one := struct {
			Name      string  `json:"name"`
			Relevance float64 `json:"relevance"`
		}{fmt.Sprint("x", i), max(0, 1-float64(i)/25)}
		r.Inputs = append(r.Inputs, one)
	}
	var out strings.Builder
	showRelevance(&out, r)
	if !strings.Contains(out.String(), "and 10 more\n5 of 30 inputs have relevance 0\n") {
		t.Error(out.String())
	}
}

package config

import (
	"testing"

	"github.com/bochner-ml/bochner/pipeline"
)

// Every step has a place in the reference by task, and every example names a step that exists.
func TestEveryStepHasAnExample(t *testing.T) {
	for _, e := range pipeline.Registered() {
		if taskOf(e.Name) == otherSteps {
			t.Errorf("%s has no example", e.Name)
		}
	}
	for _, task := range tasks {
		for step := range task.examples {
			if _, found := pipeline.Lookup(step); !found {
				t.Errorf("%s: there is no step %s", task.title, step)
			}
		}
	}
}

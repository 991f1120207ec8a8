package pass

import (
	"testing"

	"github.com/bochner-ml/bochner/param"
)

type mean struct{ Shrink float64 }

func (m *mean) Params(l *param.List) { l.Float(&m.Shrink, "shrink", "to 0", param.AtLeast(0)) }

// A spec is known by its package's whole path, for two modules may have packages of one name, and by the
// values of its parameters.
func TestDescribe(t *testing.T) {
	if got, want := describe(mean{Shrink: 0.5}),
		"github.com/bochner-ml/bochner/datasets/pass.mean shrink=0.5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

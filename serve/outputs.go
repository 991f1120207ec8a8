package serve

import (
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/internal/rows/rowerrors"
)

// outputs describes the output tensors of a model.
type outputs struct {
	specs  []protocol.TensorSpec
	labels [][]byte // class names
}

// newOutputs derives the outputs from the task, the classes, the number of targets, and the
// prediction of zero rows. Several labels are targets with scores.
func newOutputs(has estimator.Prediction, task datasets.Task, classes []string, targets int) outputs {
	var o outputs
	for _, name := range classes {
		o.labels = append(o.labels, []byte(name))
	}
	add := func(is bool, name string, d protocol.Datatype, width int) {
		if is {
			o.specs = append(o.specs, protocol.TensorSpec{Name: name, Datatype: d, Width: int64(width)})
		}
	}
	if has.Targets == nil || targets < 2 {
		targets = 0
	}
	all := func(m *mat.Dense) int { // some outputs exist for the first target only
		if m == nil {
			return 0
		}
		return targets
	}
	scores := len(classes)
	if scores == 2 {
		scores = 1
	}
	probabilities := len(classes)
	if task == datasets.MultiLabel {
		scores, probabilities = targets, targets
	}
	add(classes != nil, "label", protocol.Bytes, 0)
	add(classes == nil && task.Unsupervised(), "label", protocol.Int64, 0)
	add(classes == nil && !task.Unsupervised(), "value", protocol.FP64, targets)
	add(has.Probabilities != nil, "probabilities", protocol.FP64, probabilities)
	add(has.Scores != nil && has.Probabilities == nil, "scores", protocol.FP64, scores)
	add(has.Std != nil || has.StdTargets != nil, "std", protocol.FP64, all(has.StdTargets))
	add(has.Lower != nil || has.LowerTargets != nil, "lower", protocol.FP64, all(has.LowerTargets))
	add(has.Upper != nil || has.UpperTargets != nil, "upper", protocol.FP64, all(has.UpperTargets))
	add(has.Sets != nil, "set", protocol.Bool, len(classes))
	add(has.Anomaly != nil, "anomaly_score", protocol.FP64, 0)
	return o
}

// bytes estimates the size of the response per row.
func (o outputs) bytes() int64 {
	cells := int64(2)
	for _, spec := range o.specs {
		cells += max(spec.Width, 1)
	}
	return cells * (8 + 24)
}

func (o outputs) names() (names []string) {
	for _, spec := range o.specs {
		names = append(names, spec.Name)
	}
	return names
}

// selected returns the outputs with the given names, or all without names.
func (o outputs) selected(names []string) ([]protocol.TensorSpec, error) {
	if len(names) == 0 {
		return o.specs, nil
	}
	if len(names) > 2*len(o.specs) {
		return nil, newError(protocol.InvalidArgument, "number of outputs: must be at most %d, got %d; available: %s",
			2*len(o.specs), len(names), strings.Join(o.names(), ", "))
	}
	var f rowerrors.List
	var out []protocol.TensorSpec
	for i, name := range names {
		at := slices.IndexFunc(o.specs, func(spec protocol.TensorSpec) bool { return spec.Name == name })
		switch {
		case at < 0:
			f.Add("output %q: unknown; available: %s", rowerrors.Clip(name), strings.Join(o.names(), ", "))
		case slices.Contains(names[:i], name):
			f.Add("duplicate output %q", name)
		default:
			out = append(out, o.specs[at])
		}
	}
	return out, f.Err()
}

// tensor returns one output of a prediction of n rows.
func (o outputs) tensor(spec protocol.TensorSpec, p estimator.Prediction, n int) protocol.Tensor {
	t := protocol.Tensor{Name: spec.Name, Datatype: spec.Datatype, Shape: spec.Shape(int64(n))}
	if n == 0 {
		return t
	}
	if spec.Datatype == protocol.Bytes {
		t.Strings = make([][]byte, n)
		for i, v := range p.Values {
			t.Strings[i] = o.labels[int(v)]
		}
		return t
	}
	for _, part := range [...]struct {
		name   string
		vector []float64
		matrix *mat.Dense
	}{
		{"label", p.Values, nil}, {"value", p.Values, p.Targets}, {"probabilities", nil, p.Probabilities},
		{"scores", nil, p.Scores}, {"std", p.Std, p.StdTargets},
		{"lower", p.Lower, p.LowerTargets}, {"upper", p.Upper, p.UpperTargets}, {"set", nil, p.Sets},
		{"anomaly_score", p.Anomaly, nil},
	} {
		if part.name != spec.Name {
			continue
		}
		if t.Numbers = part.vector; spec.Width > 0 {
			t.Numbers = mat.DenseCopyOf(part.matrix).RawMatrix().Data
		}
	}
	return t
}

package serve

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
)

// InferRequest is a request of the Open Inference Protocol, whatever it has come by.
type InferRequest struct {
	Model   string
	Version string // "" is the latest
	ID      string
	Inputs  []Tensor
	Outputs []string // that are wanted; none is all
}

// InferResponse is the answer.
type InferResponse struct {
	Model   string
	Version string
	ID      string
	Outputs []Tensor
}

// TensorSpec is how a tensor looks that a model takes or answers.
type TensorSpec struct {
	Name     string
	Datatype Datatype
	Width    int64 // the shape is [rows], for 0, or [rows, width]
}

// Shape returns the shape for so many rows; -1 stands for any.
func (o TensorSpec) Shape(rows int64) []int64 {
	if o.Width == 0 {
		return []int64{rows}
	}
	return []int64{rows, o.Width}
}

// Infer predicts the rows that the tensors of a request are. It waits for its turn and is turned away when too many
// wait already. The error is an [Error].
func (s *Server) Infer(ctx context.Context, r *InferRequest) (*InferResponse, error) {
	a, err := s.Admit()
	if err != nil {
		return nil, err
	}
	defer a.Done()
	return a.Infer(ctx, r)
}

// infer is Infer of a request whose turn it is.
func (s *Server) infer(ctx context.Context, m *loaded, r *InferRequest, room *share, leave func()) (*InferResponse, error) {
	wanted, err := m.wanted(r.Outputs)
	if err != nil {
		return nil, err
	}
	x, n, err := m.rowsOf(r.Inputs, s.gate.limits.Rows, room)
	if err != nil {
		return nil, err
	}
	said, err := m.predict(ctx, x, n, leave)
	if err != nil {
		return nil, err
	}
	s.metrics.rows.WithLabelValues(m.name).Add(float64(n))
	out := &InferResponse{Model: m.name, Version: m.version, ID: r.ID}
	for _, o := range wanted {
		out.Outputs = append(out.Outputs, m.tensor(o, said, n))
	}
	return out, nil
}

// wanted returns the outputs that are asked for.
func (m *loaded) wanted(names []string) ([]TensorSpec, error) {
	if len(names) == 0 {
		return m.outputs, nil
	}
	if len(names) > 2*len(m.outputs) {
		return nil, refuse(Invalid, "%d outputs are asked for; the model has %s", len(names), m.outputNames())
	}
	var f faults
	var out []TensorSpec
	for i, name := range names {
		at := slices.IndexFunc(m.outputs, func(o TensorSpec) bool { return o.Name == name })
		switch {
		case at < 0:
			f.add("output %q: the model has none of that name; it has %s", clip(name), m.outputNames())
		case slices.Contains(names[:i], name):
			f.add("output %q is asked for twice", name)
		default:
			out = append(out, m.outputs[at])
		}
	}
	return out, f.err()
}

func (m *loaded) outputNames() (text string) {
	for i, o := range m.outputs {
		if i > 0 {
			text += ", "
		}
		text += o.Name
	}
	return text
}

// outputsOf lists what the model says.
func (m *loaded) outputsOf() (out []TensorSpec) {
	has, targets := m.has, int64(0)
	if n := len(m.model.Schema.Targets); has.Targets != nil && n > 1 {
		targets = int64(n)
	}
	add := func(is bool, name string, d Datatype, width int64) {
		if is {
			out = append(out, TensorSpec{name, d, width})
		}
	}
	classes := int64(len(m.classes))
	scores := classes
	if classes == 2 {
		scores = 1
	}
	switch {
	case m.classes != nil:
		add(true, "label", Bytes, 0)
	case m.model.Task.Targetless():
		add(true, "label", Int64, 0)
	default:
		add(true, "value", FP64, targets)
	}
	add(has.Probabilities != nil, "probabilities", FP64, classes)
	add(has.Scores != nil && has.Probabilities == nil, "scores", FP64, scores)
	add(has.Std != nil || has.StdTargets != nil, "std", FP64, widthOf(targets, has.StdTargets))
	add(has.Lower != nil || has.LowerTargets != nil, "lower", FP64, widthOf(targets, has.LowerTargets))
	add(has.Upper != nil || has.UpperTargets != nil, "upper", FP64, widthOf(targets, has.UpperTargets))
	add(has.Sets != nil, "set", Bool, classes)
	add(has.Anomaly != nil, "anomaly_score", FP64, 0)
	return out
}

// widthOf is how many numbers a row has of what may be said of the first target alone.
func widthOf(targets int64, all *mat.Dense) int64 {
	if all == nil {
		return 0
	}
	return targets
}

// tensor returns an output of n rows.
func (m *loaded) tensor(o TensorSpec, said estimator.Prediction, n int) Tensor {
	t := Tensor{Name: o.Name, Datatype: o.Datatype, Shape: o.Shape(int64(n))}
	if n == 0 {
		return t
	}
	switch o.Name {
	case "label":
		if o.Datatype == Int64 {
			t.Numbers = said.Values
			break
		}
		t.Texts = make([][]byte, n)
		for i, v := range said.Values {
			t.Texts[i] = m.labels[int(v)]
		}
	case "value":
		t.Numbers = numbersOf(said.Values, said.Targets, o.Width)
	case "probabilities":
		t.Numbers = dense(said.Probabilities)
	case "scores":
		t.Numbers = dense(said.Scores)
	case "std":
		t.Numbers = numbersOf(said.Std, said.StdTargets, o.Width)
	case "lower":
		t.Numbers = numbersOf(said.Lower, said.LowerTargets, o.Width)
	case "upper":
		t.Numbers = numbersOf(said.Upper, said.UpperTargets, o.Width)
	case "set":
		t.Numbers = dense(said.Sets)
	case "anomaly_score":
		t.Numbers = said.Anomaly
	}
	return t
}

// numbersOf returns what is said of all targets, where there are several.
func numbersOf(one []float64, all *mat.Dense, width int64) []float64 {
	if width == 0 {
		return one
	}
	return dense(all)
}

// dense returns the numbers of a matrix row by row.
func dense(m *mat.Dense) []float64 {
	raw := m.RawMatrix()
	if raw.Stride == raw.Cols {
		return raw.Data[:raw.Rows*raw.Cols]
	}
	out := make([]float64, 0, raw.Rows*raw.Cols)
	for i := range raw.Rows {
		out = append(out, m.RawRowView(i)...)
	}
	return out
}

// Metadata is what the protocol tells of a model.
type Metadata struct {
	Name     string
	Versions []string     // that are loaded, the latest last
	Inputs   []TensorSpec // as tensors of any number of rows; a model of numbers alone has one, X
	Outputs  []TensorSpec
}

// Platform is what the protocol calls the software that has made a model.
const Platform = "bochner"

// Metadata tells of a version of a model, "" for the latest. The error is an [Error].
func (s *Server) Metadata(name, version string) (Metadata, error) {
	m, err := s.find(name, version)
	if err != nil {
		return Metadata{}, err
	}
	out := Metadata{Name: m.name, Versions: s.versionsOf(name), Outputs: m.outputs}
	if _, column := m.byName[wholeRows]; m.numeric && !column {
		out.Inputs = []TensorSpec{{wholeRows, FP64, int64(m.width)}}
		return out, nil
	}
	for _, f := range m.fields[:m.width] {
		d := FP64
		if f.use == category {
			d = Bytes
		}
		out.Inputs = append(out.Inputs, TensorSpec{f.name, d, 0})
	}
	return out, nil
}

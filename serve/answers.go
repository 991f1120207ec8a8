package serve

import (
	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
)

// answers writes predictions as JSON, by parts that are the same in all answers of a model.
type answers struct {
	head    string   // {"model":"adult","version":"1","predictions":[
	classes []string // "yes":
	names   []string // "yes"
	targets []string // "price":
}

// newAnswers returns the parts for a model with the given names of classes, and of targets if there are several.
func newAnswers(model, version string, classes, targets []string) answers {
	head := appendText([]byte(`{"model":`), model)
	head = appendText(append(head, `,"version":`...), version)
	a := answers{head: string(append(head, `,"predictions":[`...))}
	for _, name := range classes {
		text := string(appendText(nil, name))
		a.names, a.classes = append(a.names, text), append(a.classes, text+":")
	}
	for _, name := range targets {
		a.targets = append(a.targets, string(appendText(nil, name))+":")
	}
	return a
}

// append appends the answer with the predictions of n rows.
func (a *answers) append(out []byte, p estimator.Prediction, n int) []byte {
	out = append(out, a.head...)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = a.appendRow(out, p, i)
	}
	return append(out, "]}\n"...)
}

// appendRow appends the prediction of a row, as modelfile.RowPrediction has it.
func (a *answers) appendRow(out []byte, p estimator.Prediction, i int) []byte {
	out = appendNumber(append(out, `{"value":`...), p.Values[i])
	if a.classes != nil {
		out = append(append(out, `,"class":`...), a.names[int(p.Values[i])]...)
	}
	switch {
	case a.classes == nil:
	case p.Probabilities != nil:
		out = appendNamed(out, `,"probabilities":{`, a.classes, p.Probabilities.RawRowView(i))
	case p.Scores != nil && len(a.classes) == 2: // of the second class
		out = appendNamed(out, `,"scores":{`, a.classes[1:], p.Scores.RawRowView(i))
	case p.Scores != nil:
		out = appendNamed(out, `,"scores":{`, a.classes, p.Scores.RawRowView(i))
	}
	for _, list := range [...]struct {
		key    string
		values []float64
	}{{`,"std":`, p.Std}, {`,"lower":`, p.Lower}, {`,"upper":`, p.Upper}, {`,"anomaly_score":`, p.Anomaly}} {
		if list.values != nil {
			out = appendNumber(append(out, list.key...), list.values[i])
		}
	}
	for _, list := range [...]struct {
		key    string
		values *mat.Dense
	}{{`,"targets":{`, p.Targets}, {`,"targets_std":{`, p.StdTargets}, {`,"targets_lower":{`, p.LowerTargets}, {`,"targets_upper":{`, p.UpperTargets}} {
		if a.targets != nil && list.values != nil {
			out = appendNamed(out, list.key, a.targets, list.values.RawRowView(i))
		}
	}
	if p.Sets != nil {
		out = append(out, `,"set":[`...)
		first := true
		for k, is := range p.Sets.RawRowView(i) {
			if is != 0 {
				if !first {
					out = append(out, ',')
				}
				out, first = append(out, a.names[k]...), false
			}
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// appendNamed appends an object of numbers.
func appendNamed(out []byte, head string, names []string, values []float64) []byte {
	out = append(out, head...)
	for k, v := range values {
		if k > 0 {
			out = append(out, ',')
		}
		out = appendNumber(append(out, names[k]...), v)
	}
	return append(out, '}')
}

package serve

import (
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/bochner-ml/bochner/estimator"
)

// predictionEncoder writes the predictions of one model as JSON. It stores the parts that are the
// same in all responses.
type predictionEncoder struct {
	prefix     string   // {"model":"adult","version":"1","predictions":[
	classKeys  []string // "yes":
	classNames []string // "yes"
	targetKeys []string // "price":
}

// unknownColumn is a column with unknown categories.
type unknownColumn struct {
	name string
	rows int
}

// newPredictionEncoder returns the encoder for a model with the given class names, and target names
// if it has several targets.
func newPredictionEncoder(model, version string, classes, targets []string) predictionEncoder {
	head := appendString([]byte(`{"model":`), model)
	head = appendString(append(head, `,"version":`...), version)
	a := predictionEncoder{prefix: string(append(head, `,"predictions":[`...))}
	for _, name := range classes {
		text := string(appendString(nil, name))
		a.classNames, a.classKeys = append(a.classNames, text), append(a.classKeys, text+":")
	}
	for _, name := range targets {
		a.targetKeys = append(a.targetKeys, string(appendString(nil, name))+":")
	}
	return a
}

// append appends the response with the predictions of n rows and the number of rows with unknown categories.
func (a *predictionEncoder) append(out []byte, p estimator.Prediction, n int, unknown []unknownColumn) []byte {
	out = append(out, a.prefix...)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = a.appendRow(out, p, i)
	}
	out = append(out, ']')
	for k, c := range unknown {
		out = append(out, [...]string{`,"unknown_categories":{`, ","}[min(k, 1)]...)
		out = strconv.AppendInt(append(appendString(out, c.name), ':'), int64(c.rows), 10)
	}
	if unknown != nil {
		out = append(out, '}')
	}
	return append(out, "}\n"...)
}

// appendRow appends the prediction of row i, with the keys of modelfile.RowPrediction.
func (a *predictionEncoder) appendRow(out []byte, p estimator.Prediction, i int) []byte {
	out = appendNumber(append(out, `{"value":`...), p.Values[i])
	if a.classKeys != nil {
		out = append(append(out, `,"class":`...), a.classNames[int(p.Values[i])]...)
	}
	names := a.classKeys
	if names == nil { // several labels are targets
		names = a.targetKeys
	}
	switch {
	case names == nil:
	case p.Probabilities != nil:
		out = appendNamed(out, `,"probabilities":{`, names, p.Probabilities.RawRowView(i))
	case p.Scores != nil && len(a.classKeys) == 2: // of the second class
		out = appendNamed(out, `,"scores":{`, names[1:], p.Scores.RawRowView(i))
	case p.Scores != nil:
		out = appendNamed(out, `,"scores":{`, names, p.Scores.RawRowView(i))
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
	}{{`,"targets":{`, p.Targets}, {`,"targets_std":{`, p.StdTargets}, {`,"targets_lower":{`, p.LowerTargets},
		{`,"targets_upper":{`, p.UpperTargets}} {
		if a.targetKeys != nil && list.values != nil {
			out = appendNamed(out, list.key, a.targetKeys, list.values.RawRowView(i))
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
				out, first = append(out, a.classNames[k]...), false
			}
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// appendNamed appends a JSON object of numbers.
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

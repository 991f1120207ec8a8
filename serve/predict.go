package serve

import (
	"github.com/bochner-ml/bochner/estimator"
)

// predictRows answers rows of values by the name of their column.
func (c *call) predictRows() error {
	m, err := c.find(c.asked.name, c.asked.version)
	if err != nil {
		return err
	}
	c.found = m.name
	if err := c.checkBody("application/json"); err != nil {
		return err
	}
	if err := c.gate.come(); err != nil {
		return err
	}
	defer c.gate.gone()
	if err := c.readBody(); err != nil {
		return err
	}
	if err := c.predictBody(m); err != nil {
		return err
	}
	c.send(200, headerJSON)
	return nil
}

// predictBody waits for its turn, predicts, and writes the answer to out.
func (c *call) predictBody(m *loaded) error {
	ctx, leave, err := c.turn(c.r.Context())
	if err != nil {
		return err
	}
	defer leave()
	// A column of a row takes four bytes of a body at least, and eight of the matrix.
	if err := c.room.take(2*int64(len(c.body)) + 8*int64(m.width)); err != nil {
		return err
	}
	if err := c.scan.Begin(c.body); err != nil {
		return err
	}
	r := &c.reader
	*r = rowReader{JSON: &c.scan, model: m, most: c.options.Limits.Rows, given: r.given, x: r.x[:0]}
	if err := r.read(); err != nil {
		return err
	}
	c.rows = r.n
	if err := c.room.take(int64(r.n) * m.answerBytes()); err != nil {
		return err
	}
	said, err := m.predict(ctx, r.x, r.n, leave)
	if err != nil {
		return err
	}
	c.metrics.rows.WithLabelValues(m.name).Add(float64(r.n))
	c.out = m.appendAnswer(c.out[:0], said, r.n)
	return nil
}

// keys are parts of an answer that are the same in all, as JSON.
type keys struct {
	head    string   // {"model":"adult","version":"1","predictions":[
	classes []string // "yes":
	names   []string // "yes"
	targets []string // "price":
}

// keysOf writes them.
func (m *loaded) keysOf() (k keys) {
	head := appendText([]byte(`{"model":`), m.name)
	head = appendText(append(head, `,"version":`...), m.version)
	k.head = string(append(head, `,"predictions":[`...))
	for _, name := range m.classes {
		text := string(appendText(nil, name))
		k.names, k.classes = append(k.names, text), append(k.classes, text+":")
	}
	if m.has.Targets != nil && len(m.model.Schema.Targets) > 1 {
		for _, t := range m.model.Schema.Targets {
			k.targets = append(k.targets, string(appendText(nil, t.Name))+":")
		}
	}
	return k
}

// appendAnswer writes what the model says of n rows.
func (m *loaded) appendAnswer(out []byte, said estimator.Prediction, n int) []byte {
	out = append(out, m.keys.head...)
	for i := range n {
		if i > 0 {
			out = append(out, ',')
		}
		out = m.appendRow(out, said, i)
	}
	return append(out, "]}\n"...)
}

// appendRow writes what the model says of a row, as modelfile.RowPrediction has it.
func (m *loaded) appendRow(out []byte, said estimator.Prediction, i int) []byte {
	out = appendNumber(append(out, `{"value":`...), said.Values[i])
	if m.classes != nil {
		out = append(append(out, `,"class":`...), m.keys.names[int(said.Values[i])]...)
	}
	switch {
	case m.classes == nil:
	case said.Probabilities != nil:
		out = appendNamed(out, `,"probabilities":{`, m.keys.classes, said.Probabilities.RawRowView(i))
	case said.Scores != nil && len(m.classes) == 2: // of the second class
		out = appendNamed(out, `,"scores":{`, m.keys.classes[1:], said.Scores.RawRowView(i))
	case said.Scores != nil:
		out = appendNamed(out, `,"scores":{`, m.keys.classes, said.Scores.RawRowView(i))
	}
	for _, list := range [...]struct {
		key    string
		values []float64
	}{{`,"std":`, said.Std}, {`,"lower":`, said.Lower}, {`,"upper":`, said.Upper}, {`,"anomaly_score":`, said.Anomaly}} {
		if list.values != nil {
			out = appendNumber(append(out, list.key...), list.values[i])
		}
	}
	if m.keys.targets != nil {
		out = m.appendTargets(out, said, i)
	}
	if said.Sets != nil {
		out = append(out, `,"set":[`...)
		first := true
		for k, is := range said.Sets.RawRowView(i) {
			if is != 0 {
				if !first {
					out = append(out, ',')
				}
				out, first = append(out, m.keys.names[k]...), false
			}
		}
		out = append(out, ']')
	}
	return append(out, '}')
}

// appendTargets writes what is said of several targets.
func (m *loaded) appendTargets(out []byte, said estimator.Prediction, i int) []byte {
	out = appendNamed(out, `,"targets":{`, m.keys.targets, said.Targets.RawRowView(i))
	if said.StdTargets != nil {
		out = appendNamed(out, `,"targets_std":{`, m.keys.targets, said.StdTargets.RawRowView(i))
	}
	if said.LowerTargets != nil {
		out = appendNamed(out, `,"targets_lower":{`, m.keys.targets, said.LowerTargets.RawRowView(i))
	}
	if said.UpperTargets != nil {
		out = appendNamed(out, `,"targets_upper":{`, m.keys.targets, said.UpperTargets.RawRowView(i))
	}
	return out
}

// appendNamed writes an object of numbers.
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

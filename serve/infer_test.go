package serve_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
)

// tensorsOf converts rows to one input per column, with strings for categories.
func tensorsOf(data datasets.Set, column bool) []protocol.Tensor {
	var out []protocol.Tensor
	for j, c := range data.Schema.Columns {
		t := protocol.Tensor{Name: c.Name, Datatype: protocol.FP64, Shape: []int64{int64(data.Rows())}}
		if column {
			t.Shape = append(t.Shape, 1)
		}
		for i := range data.Rows() {
			v := data.X.At(i, j)
			if c.Kind == datasets.Categorical {
				t.Datatype = protocol.Bytes
				t.Strings = append(t.Strings, []byte(c.Categories[int(v)]))
			} else {
				t.Numbers = append(t.Numbers, v)
			}
		}
		out = append(out, t)
	}
	return out
}

// outputsOf returns the expected outputs.
func outputsOf(t *testing.T, m *modelfile.Model, data datasets.Set) map[string][]any {
	t.Helper()
	prediction, err := estimator.Predict(ctx, m.Predictor, data.X, estimator.Request{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]any{}
	put := func(name string, values ...float64) {
		for _, v := range values {
			out[name] = append(out[name], v)
		}
	}
	classes := m.Schema.Classes()
	for i, v := range prediction.Values {
		switch {
		case classes != nil:
			out["label"] = append(out["label"], classes[int(v)])
		case m.Task.Unsupervised():
			put("label", v)
		case len(m.Schema.Targets) > 1:
			put("value", prediction.Targets.RawRowView(i)...)
		default:
			put("value", v)
		}
		switch {
		case prediction.Probabilities != nil:
			put("probabilities", prediction.Probabilities.RawRowView(i)...)
		case prediction.Scores != nil:
			put("scores", prediction.Scores.RawRowView(i)...)
		}
		if prediction.StdTargets != nil {
			put("std", prediction.StdTargets.RawRowView(i)...)
			put("lower", prediction.LowerTargets.RawRowView(i)...)
			put("upper", prediction.UpperTargets.RawRowView(i)...)
		} else if prediction.Std != nil {
			put("std", prediction.Std[i])
		}
		if prediction.StdTargets == nil && prediction.Lower != nil {
			put("lower", prediction.Lower[i])
			put("upper", prediction.Upper[i])
		}
		if prediction.Sets != nil {
			for _, is := range prediction.Sets.RawRowView(i) {
				out["set"] = append(out["set"], is != 0)
			}
		}
		if prediction.Anomaly != nil {
			put("anomaly_score", prediction.Anomaly[i])
		}
	}
	return out
}

// elements returns the elements of a tensor as JSON decodes them.
func elements(t protocol.Tensor) (out []any) {
	for _, text := range t.Strings {
		out = append(out, string(text))
	}
	for _, v := range t.Numbers {
		if t.Datatype == protocol.Bool {
			out = append(out, v != 0)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// All encodings of inputs and outputs (values, raw bytes, flat and nested JSON, binary data) agree
// with the model.
func TestInferMatchesModel(t *testing.T) {
	s := started(t, serve.Options{})
	rng := rand.New(rand.NewPCG(3, 4))
	for name, m := range fitted() {
		data := rows(m.Schema, 7, rng)
		want := outputsOf(t, m, data)
		for _, column := range []bool{false, true} {
			answer, err := inferDirect(s, &protocol.InferRequest{Model: name, Version: "1", ID: "x",
				Inputs: tensorsOf(data, column)})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if answer.ID != "x" || answer.Model != name || answer.Version != "1" {
				t.Errorf("%s: %+v", name, answer)
			}
			compare(t, name+" as values", answer.Outputs, want)
			raw := tensorsOf(data, column)
			for i := range raw {
				packed := raw[i].AppendRaw(nil)
				raw[i] = protocol.Tensor{Name: raw[i].Name, Datatype: raw[i].Datatype, Shape: raw[i].Shape, Raw: packed}
			}
			if answer, err = inferDirect(s, &protocol.InferRequest{Model: name, Inputs: raw}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			compare(t, name+" as bytes", answer.Outputs, want)
			for _, binaryIn := range []bool{false, true} {
				for _, binaryOut := range []bool{false, true} {
					body, length := inferBody(tensorsOf(data, column), binaryIn, binaryOut)
					header := []string{"Content-Type", "application/json"}
					if binaryIn {
						header = []string{"Content-Type", "application/octet-stream", "Inference-Header-Content-Length",
							strconv.Itoa(length)}
					}
					got := ask(s, "POST", "/v2/models/"+name+"/infer", body, header...)
					compare(t, fmt.Sprintf("%s, binary %v %v", name, binaryIn, binaryOut), parseInfer(t, got), want)
				}
			}
		}
	}
}

// compare checks outputs bit for bit.
func compare(t *testing.T, what string, got []protocol.Tensor, want map[string][]any) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d outputs, want %d", what, len(got), len(want))
	}
	for _, o := range got {
		if n, err := o.Len(); err != nil || n != len(want[o.Name]) || !slices.Equal(elements(o), want[o.Name]) {
			t.Errorf("%s: %s %v: %v, want %v", what, o.Name, o.Shape, elements(o), want[o.Name])
		}
	}
}

// inferBody encodes a request and returns the number of bytes of JSON.
func inferBody(inputs []protocol.Tensor, binaryIn, binaryOut bool) (body string, length int) {
	var list []map[string]any
	var raw []byte
	for _, t := range inputs {
		input := map[string]any{"name": t.Name, "datatype": t.Datatype, "shape": t.Shape}
		if binaryIn {
			before := len(raw)
			raw = t.AppendRaw(raw)
			input["parameters"] = map[string]any{"binary_data_size": len(raw) - before}
		} else {
			data := elements(t)
			if len(t.Shape) == 2 { // nested
				var nested []any
				for k := 0; k < len(data); k += int(t.Shape[1]) {
					nested = append(nested, data[k:k+int(t.Shape[1])])
				}
				data = nested
			}
			input["data"] = data
		}
		list = append(list, input)
	}
	text, err := json.Marshal(map[string]any{"inputs": list, "parameters": map[string]any{"binary_data_output": binaryOut,
		"other": 1}})
	if err != nil {
		panic(err)
	}
	return string(text) + string(raw), len(text)
}

// parseInfer decodes a response.
func parseInfer(t *testing.T, r reply) []protocol.Tensor {
	t.Helper()
	text, raw := r.body, []byte(nil)
	if given := r.header.Get("Inference-Header-Content-Length"); given != "" {
		n, err := strconv.Atoi(given)
		if err != nil || r.header.Get("Content-Type") != "application/octet-stream" {
			t.Fatalf("header %q, %v", given, r.header)
		}
		text, raw = r.body[:n], []byte(r.body[n:])
	}
	var answer struct {
		Outputs []struct {
			Name       string
			Datatype   protocol.Datatype
			Shape      []int64
			Data       []any
			Parameters struct {
				Size *int `json:"binary_data_size"`
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || r.code != 200 {
		t.Fatalf("%d %s: %v", r.code, text, err)
	}
	var out []protocol.Tensor
	for _, o := range answer.Outputs {
		one := protocol.Tensor{Name: o.Name, Datatype: o.Datatype, Shape: o.Shape}
		for _, v := range o.Data {
			switch v := v.(type) {
			case string:
				one.Strings = append(one.Strings, []byte(v))
			case bool:
				one.Numbers = append(one.Numbers, map[bool]float64{true: 1}[v])
			case float64:
				one.Numbers = append(one.Numbers, v)
			}
		}
		if size := o.Parameters.Size; size != nil {
			take := raw[:*size]
			raw = raw[*size:]
			for len(take) > 0 {
				e := binary.LittleEndian
				switch o.Datatype {
				case protocol.Bytes:
					n := 4 + int(e.Uint32(take))
					one.Strings, take = append(one.Strings, take[4:n]), take[n:]
				case protocol.Bool:
					one.Numbers, take = append(one.Numbers, float64(take[0])), take[1:]
				case protocol.Int64:
					one.Numbers, take = append(one.Numbers, float64(int64(e.Uint64(take)))), take[8:]
				case protocol.FP64:
					one.Numbers, take = append(one.Numbers, math.Float64frombits(e.Uint64(take))), take[8:]
				default:
					t.Fatalf("datatype %s", o.Datatype)
				}
			}
		}
		out = append(out, one)
	}
	if len(raw) > 0 {
		t.Errorf("%d bytes are left", len(raw))
	}
	return out
}

// A matrix of any numeric type gives the same bits as separate columns.
func TestInferTakesAMatrix(t *testing.T) {
	s := started(t, serve.Options{})
	for _, c := range []struct {
		datatype protocol.Datatype
		data     string
		raw      []byte
	}{
		{protocol.FP64, "[[1, 2, 3], [0, 1, -1]]", nil},
		{protocol.FP32, "[1, 2.0, 3e0, 0, 1, -1]", nil},
		{protocol.Int8, "[[[1], [2], [3]], [0, 1, -1]]", []byte{1, 2, 3, 0, 1, 0xff}},
		{protocol.Int16, "[1, 2, 3, 0, 1, -1]", []byte{1, 0, 2, 0, 3, 0, 0, 0, 1, 0, 0xff, 0xff}},
		{protocol.Int32, "[1, 2, 3, 0, 1, -1]", nil},
		{protocol.Int64, "[1, 2, 3, 0, 1, -1]", nil},
	} {
		want, err := fitted()["nrent"].PredictRows(ctx, []map[string]any{{"a": 1, "b": 2, "c": 3}, {"a": 0, "b": 1, "c": -1}})
		if err != nil {
			t.Fatal(err)
		}
		check := func(what string, got reply) {
			t.Helper()
			out := parseInfer(t, got)
			if len(out) != 1 || out[0].Name != "value" || !slices.Equal(out[0].Shape, []int64{2}) ||
				out[0].Numbers[0] != want[0].Value || out[0].Numbers[1] != want[1].Value {
				t.Errorf("%s %s: %s, want %v", c.datatype, what, got.body, want)
			}
		}
		body := fmt.Sprintf(`{"inputs":[{"data":%s,"datatype":"%s","shape":[2,3],"name":"X"}]}`, c.data, c.datatype)
		check("as JSON", ask(s, "POST", "/v2/models/nrent/infer", body))
		if c.raw != nil {
			head := fmt.Sprintf(`{"inputs":[{"name":"X","shape":[2,3],"datatype":"%s","parameters":{"binary_data_size":%d}}],"outputs":[{"name":"value","parameters":{"binary_data":true}}]}`, c.datatype, len(c.raw))
			check("as bytes", ask(s, "POST", "/v2/models/nrent/infer", head+string(c.raw), "Inference-Header-Content-Length",
				strconv.Itoa(len(head))))
		}
	}
	for _, d := range []protocol.Datatype{protocol.Uint8, protocol.Uint16, protocol.Uint32, protocol.Uint64,
		protocol.Bool} {
		body := fmt.Sprintf(`{"id":"\u00e4","inputs":[{"name":"X","shape":[1,3],"datatype":"%s","data":[1,0,1]}]}`, d)
		want, err := fitted()["nrent"].PredictRows(ctx, []map[string]any{{"a": 1, "b": 0, "c": 1}})
		if err != nil {
			t.Fatal(err)
		}
		got := ask(s, "POST", "/v2/models/nrent/infer", body)
		if out := parseInfer(t, got); out[0].Numbers[0] != want[0].Value || !strings.Contains(got.body, `"id":"ä"`) {
			t.Errorf("%s: %s, want %v", d, got.body, want)
		}
	}
}

// Missing values, codes, Booleans and dates have the same meaning in tensors and rows.
func TestInferCodesAsRows(t *testing.T) {
	s := started(t, serve.Options{})
	want, err := fitted()["chance"].PredictRows(ctx, []map[string]any{
		{"age": nil, "city": "?", "zip": 20, "member": true, "sold": "2003-05-17", "size": "4"},
		{"age": 2, "city": "unheard of", "zip": 7, "member": false, "sold": nil, "size": nil},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, age := range []string{`"datatype":"FP64","data":[null,2]`, `"datatype":"INT32","data":[null,2]`,
		`"datatype":"BYTES","data":["NA","2.0"]`} {
		body := `{"inputs":[{"name":"age","shape":[2],` + age +
			`},{"name":"city","shape":[2,1],"datatype":"BYTES","data":["?","unheard of"]},
			{"name":"zip","shape":[2],"datatype":"INT64","data":[20,7]},{"name":"member","shape":[2],"datatype":"BOOL","data":[true,false]},
			{"name":"sold","shape":[2],"datatype":"BYTES","data":["2003-05-17",""]},{"name":"size","shape":[2],"datatype":"BYTES","data":["4",null]}],
			"outputs":[{"name":"probabilities"}]}`
		out := parseInfer(t, ask(s, "POST", "/v2/models/chance/infer", body))
		if len(out) != 1 || len(out[0].Numbers) != 4 || out[0].Numbers[1] != want[0].Probabilities[`y"es`] ||
			out[0].Numbers[3] != want[1].Probabilities[`y"es`] {
			t.Errorf("%s: %+v, want %+v", age, out, want)
		}
	}
}

// Metadata and health routes.
func TestInferMetadata(t *testing.T) {
	s := started(t, serve.Options{Version: "1.2.3"})
	for path, want := range map[string]string{
		"/v2":                               `{"extensions":["binary_tensor_data"],"name":"bochner","version":"1.2.3"}`,
		"/v2/":                              `{"extensions":["binary_tensor_data"],"name":"bochner","version":"1.2.3"}`,
		"/v2/health/live":                   `{"live":true}`,
		"/v2/health/ready":                  `{"ready":true}`,
		"/v2/models/nrent/ready":            `{"name":"nrent","ready":true}`,
		"/v2/models/nrent/versions/1/ready": `{"name":"nrent","ready":true}`,
		"/v2/models/nrent":                  `{"name":"nrent","versions":["1"],"platform":"bochner","inputs":[{"name":"X","datatype":"FP64","shape":[-1,3]}],"outputs":[{"name":"value","datatype":"FP64","shape":[-1]}]}`,
		"/v2/models/nmany/versions/1":       `{"name":"nmany","versions":["1"],"platform":"bochner","inputs":[{"name":"X","datatype":"FP64","shape":[-1,3]}],"outputs":[{"name":"value","datatype":"FP64","shape":[-1,3]}]}`,
		"/v2/models/margin": `{"name":"margin","versions":["1"],"platform":"bochner","inputs":[{"name":"age","datatype":"FP64","shape":[-1]},{"name":"city","datatype":"BYTES","shape":[-1]},` +
			`{"name":"zip","datatype":"BYTES","shape":[-1]},{"name":"member","datatype":"BYTES","shape":[-1]},{"name":"sold_year","datatype":"FP64","shape":[-1]},{"name":"sold_month","datatype":"FP64","shape":[-1]},` +
			`{"name":"size","datatype":"FP64","shape":[-1]}],"outputs":[{"name":"label","datatype":"BYTES","shape":[-1]},{"name":"scores","datatype":"FP64","shape":[-1,1]}]}`,
	} {
		if got := ask(s, "GET", path, ""); got.code != 200 || got.body != want {
			t.Errorf("%s: %d %s, want %s", path, got.code, got.body, want)
		}
	}
}

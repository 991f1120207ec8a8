package serve_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/serve"
)

// Any body yields a prediction or an error message; only valid JSON yields a prediction.
func FuzzBodies(f *testing.F) {
	s := started(f, serve.Options{Limits: serve.Limits{MaxRows: 50, MaxBodyBytes: 1 << 16}})
	for _, b := range badRequests() {
		if len(b.body) < 1000 {
			f.Add(b.body, "")
		}
	}
	f.Add(`{"rows":[`+good+`]}`, "")
	f.Add(x(`"shape":[1,3],"datatype":"FP32","data":[1,[2],3]`), "")
	f.Add(x(`"shape":[1,3],"datatype":"UINT8","parameters":{"binary_data_size":3}`), "abc")
	f.Add(`{"inputs":[{"name":"city","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":6}}]}`,
		"\x02\x00\x00\x00ab")
	f.Fuzz(func(t *testing.T, body, binary string) {
		for _, path := range []string{"/v1/models/chance:predict", "/v1/models/nrent:predict", infer,
			"/v2/models/chance/infer"} {
			sent, header := body, []string{"Content-Type", "application/json"}
			if binary != "" && strings.HasSuffix(path, "infer") {
				sent, header = body+binary, append(header, "Inference-Header-Content-Length", strconv.Itoa(len(body)))
			}
			switch got := ask(s, "POST", path, sent, header...); {
			case got.code != 200 && got.code != 400 && got.code != 413:
				t.Errorf("%s of %q: %d %s", path, sent, got.code, got.body)
			case got.code == 200 && !json.Valid([]byte(body)):
				t.Errorf("%s of %q, which is no JSON: %s", path, sent, got.body)
			case !json.Valid([]byte(got.body)):
				t.Errorf("%s of %q answers what is no JSON: %s", path, sent, got.body)
			}
		}
	})
}

package serve_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/serve"
)

// bad is a request that must be rejected.
type bad struct {
	name    string
	method  string // "" is POST
	path    string // "" is /v1/models/chance:predict
	header  []string
	body    string
	code    int
	message string // a part of it
}

// infer is the path of inference requests.
const infer = "/v2/models/nrent/infer"

// good is a valid row.
const good = `{"age":1,"city":"Oslo","zip":"20","member":"True","sold_year":2001,"sold_month":2,"size":3}`

// with returns a body of two rows, the second with another age.
func with(age string) string {
	return `{"rows":[` + good + `,` + strings.Replace(good, `"age":1`, `"age":`+age, 1) + `]}`
}

// x returns a request with one input X.
func x(parts string) string { return `{"inputs":[{"name":"X",` + parts + `}]}` }

// packed compresses text by gzip.
func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, text); err != nil {
		panic(err)
	}
	w.Close()
	return b.String()
}

// badRequests are invalid requests for a server with a token and limits of 100 rows and 64 KiB.
func badRequests() []bad {
	gz := []string{"Content-Encoding", "gzip"}
	binary := func(n string) []string {
		return []string{"Content-Type", "application/octet-stream", "Inference-Header-Content-Length", n}
	}
	head := `{"inputs":[{"name":"X","shape":[1,3],"datatype":"FP64","parameters":{"binary_data_size":24}}]}`
	text := `{"inputs":[{"name":"city","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":6}}]}`
	many := strings.Repeat(good+",", 100) + good
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	return []bad{
		// Authentication, paths, methods and headers.
		{"no token", "", "", []string{"Authorization", ""}, with("1"), 401,
			`missing or invalid token; send the header \"Authorization: Bearer TOKEN\"`},
		{"wrong token", "", "", []string{"Authorization", "Bearer sesame2"}, with("1"), 401,
			`missing or invalid token; send the header \"Authorization: Bearer TOKEN\"`},
		{"token by another scheme", "", "", []string{"Authorization", "Basic sesame"}, with("1"), 401,
			`missing or invalid token; send the header \"Authorization: Bearer TOKEN\"`},
		{"token of metrics", "GET", "/metrics", []string{"Authorization", ""}, "", 401,
			`missing or invalid token; send the header \"Authorization: Bearer TOKEN\"`},
		{"token of models", "GET", "/v1/models", []string{"Authorization", ""}, "", 401,
			`missing or invalid token; send the header \"Authorization: Bearer TOKEN\"`},
		{"no route", "GET", "/v3", nil, "", 404, `unknown path; models are under /v1/models and /v2/models`},
		{"path upwards", "GET", "/v1/models/../../etc/passwd", nil, "", 404,
			`unknown path; models are under /v1/models and /v2/models`},
		{"path upwards in a name", "GET", "/v1/models/..%2f..%2fetc%2fpasswd", nil, "", 404,
			`unknown path; models are under /v1/models and /v2/models`},
		{"no model", "", "/v1/models/absent:predict", nil, with("1"), 404, `unknown model \"absent\"`},
		{"no model of tensors", "", "/v2/models/absent/infer", nil, "{}", 404, `unknown model \"absent\"`},
		{"long name", "", "/v1/models/" + strings.Repeat("a", 1000) + ":predict", nil, with("1"), 404,
			`unknown model \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…\"`},
		{"no version", "", "/v1/models/chance/versions/9:predict", nil, with("1"), 404,
			`model \"chance\" has no version \"9\"; available: 1`},
		{"no version of tensors", "", "/v2/models/nrent/versions/9/infer", nil, "{}", 404, `has no version \"9\"`},
		{"empty version", "", "/v2/models/nrent/versions//infer", nil, "{}", 404,
			`unknown path; models are under /v1/models and /v2/models`},
		{"no verb", "", "/v1/models/chance:classify", nil, with("1"), 404,
			`unknown path; models are under /v1/models and /v2/models`},
		{"method of predict", "GET", "", nil, "", 405, "must be POST, got GET"},
		{"method of infer", "PUT", infer, nil, "", 405, "must be POST, got PUT"},
		{"method of a model", "DELETE", "/v1/models/chance", nil, "", 405, "must be GET, got DELETE"},
		{"method of health", "POST", "/v2/health/ready", nil, "", 405, "must be GET, got POST"},
		{"odd method", "BREW", "", nil, "", 405, "must be POST, got BREW"},
		{"content type", "", "", []string{"Content-Type", "text/csv"}, with("1"), 415,
			`content type: must be application/json in UTF-8, got \"text/csv\"`},
		{"form", "", "", []string{"Content-Type", "application/x-www-form-urlencoded"}, with("1"), 415,
			`content type: must be application/json in UTF-8, got \"application/x-www-form-urlencoded\"`},
		{"charset", "", "", []string{"Content-Type", "application/json; charset=latin1"}, with("1"), 415, "in UTF-8"},
		{"no content type", "", "", []string{"Content-Type", ";;;"}, with("1"), 415,
			`content type: must be application/json in UTF-8, got \";;;\"`},
		{"encoding", "", "", []string{"Content-Encoding", "br"}, with("1"), 415,
			`content encoding: must be gzip or none, got \"br\"`},
		{"deflate", "", infer, []string{"Content-Encoding", "deflate"}, "{}", 415,
			`content encoding: must be gzip or none, got \"deflate\"`},

		// Sizes.
		{"long body", "", "", nil, `{"rows":[` + strings.Repeat(" ", 1<<16) + `]}`, 413,
			`body size: must be at most 65536 bytes; split the request`},
		{"long packed body", "", "", gz, packed(strings.Repeat(" ", 1<<16) + with("1")), 413,
			`body size: must be at most 65536 bytes; split the request`},
		{"bomb", "", "", gz, packed(strings.Repeat(" ", 1<<25)), 413,
			`body size: must be at most 65536 bytes; split the request`},
		{"many rows", "", "", nil, `{"rows":[` + many + `]}`, 413, `number of rows: must be at most 100; split the request`},
		{"many empty rows", "", "", nil, `{"rows":[` + strings.Repeat("{},", 20000) + `{}]}`, 413,
			`number of rows: must be at most 100; split the request`},
		{"many rows of tensors", "", infer, nil, x(`"shape":[101,3],"datatype":"FP64","data":[` + strings.Repeat("0,", 302) +
			`0]`), 413, `number of rows: must be at most 100, got 101; split the request`},
		{"no gzip", "", "", gz, with("1"), 400, `cannot decompress the body: gzip: invalid header`},
		{"gzip cut off", "", "", gz, packed(with("1"))[:40], 400, "unexpected EOF"},
		{"gzip damaged", "", "", gz, packed(with("1"))[:60] + "\x00\x00\x00\x00" + packed(with("1"))[64:], 400, "the body"},

		// JSON syntax.
		{"no body", "", "", nil, "", 400, "an object such as"},
		{"no JSON", "", "", nil, "age=1", 400, `an object such as`},
		{"cut off", "", "", nil, with("1")[:40], 400, "got the end of the body"},
		{"cut off in a string", "", "", nil, `{"rows":[{"city":"Osl`, 400, "got the end of the body"},
		{"two documents", "", "", nil, with("1") + with("1"), 400, "of the body"},
		{"trailing comma", "", "", nil, `{"rows":[` + good + `,]}`, 400, `a row`},
		{"no UTF-8", "", "", nil, with(`"` + "\xff" + `"`), 400, "this is not UTF-8"},
		{"half a letter", "", "", nil, with(`"\ud800x"`), 400, "both halves of a letter"},
		{"control letter", "", "", nil, with("\"a\nb\""), 400, `an escape such as`},
		{"bad escape", "", "", nil, with(`"\x41"`), 400, `behind the backslash`},
		{"NaN", "", "", nil, with("NaN"), 400, "NaN"},
		{"infinite", "", "", nil, with("-Infinity"), 400, "-Infinity"},
		{"zeros before", "", "", nil, with("007"), 400, "a number begins with 0"},
		{"plus", "", "", nil, with("+1"), 400, `a value`},
		{"half a number", "", "", nil, with("1e"), 400, "a digit"},
		{"deep nesting", "", "", nil, with(deep), 400, "more than 16 arrays and objects in each other"},
		{"deep nesting of rows", "", "", nil, `{"rows":` + deep + `}`, 400, `a row`},
		{"deep nesting of nothing known", "", infer, nil, `{"inputs":[],"extra":` + deep + `}`, 400,
			"more than 16 arrays and objects in each other"},

		// Rows.
		{"rows missing", "", "", nil, `{}`, 400, `missing key \"rows\"; send {\"rows\": [{\"column\": value}]}`},
		{"rows twice", "", "", nil, `{"rows":[],"rows":[]}`, 400, `byte 18 of the body: duplicate key \"rows\"`},
		{"another key", "", "", nil, `{"instances":[` + good + `]}`, 400,
			`byte 13 of the body: key: must be \"rows\", got \"instances\"`},
		{"rows of a single object", "", "", nil, `{"rows":` + good + `}`, 400, `an array of rows`},
		{"an array for a row", "", "", nil, `{"rows":[[1,2]]}`, 400, `a row`},
		{"null for a row", "", "", nil, `{"rows":[null]}`, 400, `a row`},
		{"text for a number", "", "", nil, with(`"old"`), 400, `row 1, column \"age\": must be a number, got \"old\"`},
		{"hexadecimal", "", "", nil, with(`"0x10"`), 400, `must be a number, got \"0x10\"`},
		{"comma for a point", "", "", nil, with(`"1,5"`), 400, `must be a number, got \"1,5\"`},
		{"infinite text", "", "", nil, with(`"inf"`), 400, `must be a number, got \"inf\"`},
		{"object for a number", "", "", nil, with(`{"value":1}`), 400,
			`row 1, column \"age\": must be a number, got an object`},
		{"array for a number", "", "", nil, with(`[1]`), 400, `row 1, column \"age\": must be a number, got an array`},
		{"array for a string", "", "", nil, strings.Replace(with("1"), `"Oslo"`, `["Oslo"]`, 1), 400,
			`row 0, column \"city\": must be a string, got an array`},
		{"huge number", "", "", nil, with("1e999"), 400,
			`row 1, column \"age\": must be a number of magnitude at most 1.8e308, got 1e999`},
		{"number of many digits", "", "", nil, with(strings.Repeat("9", 60000)), 400,
			`row 1, column \"age\": must be a number of magnitude at most 1.8e308, got 999999999999999999999999999999999999`},
		{"column missing", "", "", nil, `{"rows":[` + strings.Replace(good, `"age":1,`, "", 1) + `]}`, 400,
			`row 0, column \"age\": must be present (null for a missing value)`},
		{"column unknown", "", "", nil, strings.Replace(with("1"), "size", "sise", 1), 400,
			`row 0, column \"sise\": the model has no such column; available: age, city, zip, member, sold_year, sold_month`},
		{"column in another case", "", "", nil, strings.Replace(with("1"), "age", "Age", 1), 400,
			`column \"Age\": the model has no such column`},
		{"column twice", "", "", nil, strings.Replace(with("1"), `"age":1`, `"age":1,"age":2`, 1), 400,
			`row 0, column \"age\": duplicate key`},
		{"no date", "", "", nil, strings.Replace(with("1"), `"sold_year":2001,"sold_month":2`, `"sold":"soon"`, 1), 400,
			`row 0, column \"sold\": must be a date such as 2024-03-31, got \"soon\"`},
		{"number for a date", "", "", nil, strings.Replace(with("1"), `"sold_year":2001,"sold_month":2`, `"sold":20240331`,
			1), 400, `row 0, column \"sold\": must be a date such as 2024-03-31, got a number`},
		{"date and a part of it", "", "", nil, strings.Replace(with("1"), `"sold_month":2`, `"sold":"2001-02-03"`, 1), 400,
			`row 0, column \"sold_year\": given twice: also part of the date \"sold\"`},
		{"all rows wrong", "", "", nil, `{"rows":[` + strings.Repeat(`{"age":"old"},`, 40) + `{}]}`, 400,
			`must be a number, got \"old\" (and in 39 more rows)`},
		{"nearly all wrong", "", "", nil, `{"rows":[` + strings.Repeat(`{"a":1,"b":2,"c":3,"d":4,"e":5},`, 99) + `{}]}`, 400,
			`; and more`},
		{"too large for the model", "", "/v1/models/nrent:predict", nil,
			`{"rows":[{"a":1,"b":1,"c":1e308},{"a":-1e308,"b":1e308,"c":1e308}]}`, 400, `is too large, at most`},

		// Tensors.
		{"no inputs", "", infer, nil, `{"inputs":[]}`, 400,
			`inputs: must be one tensor X of shape [rows, 3], or a tensor of shape [rows] or [rows, 1] for each column: a, `},
		{"inputs are an object", "", infer, nil, `{"inputs":{}}`, 400, "an array of inputs"},
		{"wrong name", "", infer, nil, strings.Replace(x(`"shape":[1,3],"datatype":"FP64","data":[1,2,3]`), "X", "x", 1), 400,
			`input \"x\": the model has no such column; inputs must be one tensor X of shape [rows, 3], or a tensor of shap`},
		{"no name", "", infer, nil, `{"inputs":[{"shape":[1,3],"datatype":"FP64","data":[1,2,3]}]}`, 400,
			"an input has no name"},
		{"input twice", "", infer, nil,
			`{"inputs":[{"name":"a","shape":[1],"datatype":"FP64","data":[1]},{"name":"a","shape":[1],"datatype":"FP64","data":[1]}]}`, 400, `duplicate input \"a\"`},
		{"matrix and columns", "", infer, nil,
			`{"inputs":[{"name":"X","shape":[1,3],"datatype":"FP64","data":[1,2,3]},{"name":"a","shape":[1],"datatype":"FP64","data":[1]}]}`, 400, `input \"X\": the model has no such column`},
		{"column without input", "", infer, nil, `{"inputs":[{"name":"a","shape":[1],"datatype":"FP64","data":[1]}]}`, 400,
			`column \"b\": has no input; column \"c\": has no input`},
		{"other numbers of rows", "", infer, nil,
			`{"inputs":[{"name":"a","shape":[1],"datatype":"FP64","data":[1]},{"name":"b","shape":[2],"datatype":"FP64","data":[1,2]}]}`, 400, `input \"b\": must have 1 rows as input \"a\", got 2`},
		{"no shape", "", infer, nil, x(`"datatype":"FP64","data":[1,2,3]`), 400, `input \"X\" has no shape`},
		{"shape of one dimension", "", infer, nil, x(`"shape":[3],"datatype":"FP64","data":[1,2,3]`), 400,
			`input \"X\": shape must be [rows, 3], got [3]`},
		{"shape of other columns", "", infer, nil, x(`"shape":[1,4],"datatype":"FP64","data":[1,2,3,4]`), 400,
			`input \"X\": shape must be [rows, 3], got [1 4]`},
		{"negative shape", "", infer, nil, x(`"shape":[-1,3],"datatype":"FP64","data":[1,2,3]`), 400,
			`input \"X\": shape must have integers ≥ 0, got -1; input \"X\": data must have 0 elements for shape [0 3], got`},
		{"broken shape", "", infer, nil, x(`"shape":[1.5,"a"],"datatype":"FP64","data":[1,2,3]`), 400,
			`input \"X\": shape must have integers ≥ 0, got 1.5; input \"X\": shape must have integers ≥ 0, got a; input \"`},
		{"shape of too much", "", infer, nil,
			x(`"shape":[9223372036854775807,9223372036854775807],"datatype":"FP64","data":[1]`), 400,
			`input \"X\": shape must have numbers ≥ 0 and at most 2147483647 elements, got [9223372036854775807 92233720368`},
		{"shape that overflows", "", infer, nil, x(`"shape":[4294967296,4294967296,3],"datatype":"FP64","data":[]`), 400,
			`input \"X\": shape must have numbers ≥ 0 and at most 2147483647 elements, got [4294967296 4294967296 3]`},
		{"shape of much and few data", "", infer, nil, x(`"shape":[700000000,3],"datatype":"FP64","data":[1,2,3]`), 400,
			`input \"X\": data must have 2100000000 elements for shape [700000000 3], got fewer`},
		{"shape of many dimensions", "", infer, nil, x(`"shape":[` + strings.Repeat("1,", 5000) +
			`1],"datatype":"FP64","data":[1]`), 400, `byte 49 of the body: a shape must have at most 8 numbers`},
		{"no datatype", "", infer, nil, x(`"shape":[1,3],"data":[1,2,3]`), 400,
			`input \"X\": datatype must be BOOL, UINT8 to UINT64, INT8 to INT64, FP32, FP64 or BYTES, got \"\"`},
		{"wrong datatype", "", infer, nil, x(`"shape":[1,3],"datatype":"FP16","data":[1,2,3]`), 400,
			`input \"X\": datatype must be BOOL, UINT8 to UINT64, INT8 to INT64, FP32, FP64 or BYTES, got \"FP16\"`},
		{"no data", "", infer, nil, x(`"shape":[1,3],"datatype":"FP64"`), 400, `input \"X\" has no data`},
		{"few data", "", infer, nil, x(`"shape":[1,3],"datatype":"FP64","data":[1.5,2.5]`), 400,
			`input \"X\": must have 3 elements for shape [1 3], got 2`},
		{"more data", "", infer, nil, x(`"shape":[1,3],"datatype":"FP64","data":[1,2,3,4]`), 400,
			`input \"X\": data must have 3 elements for shape [1 3], got more; byte 70 of the body: too many elements`},
		{"data twice", "", infer, nil, x(`"shape":[1,3],"datatype":"FP64","data":[1,2,3],"data":[1,2,3]`), 400,
			`byte 77 of the body: duplicate key \"data\"`},
		{"text in numbers", "", infer, nil, x(`"shape":[1,3],"datatype":"FP64","data":[1,"2",3]`), 400,
			`input \"X\": element 1 must be a number, got a string`},
		{"NaN in numbers", "", infer, nil, x(`"shape":[1,3],"datatype":"FP64","data":[1,NaN,3]`), 400, "NaN"},
		{"huge in numbers", "", infer, nil, x(`"shape":[1,3],"datatype":"FP64","data":[1,-1e400,3]`), 400,
			`input \"X\": element 1 must be a number of magnitude at most 1.8e308, got -1e400`},
		{"huge in FP32", "", infer, nil, x(`"shape":[1,3],"datatype":"FP32","data":[1,1e39,3]`), 400,
			`input \"X\": element 1 must be FP32, got 1e+39`},
		{"beyond INT8", "", infer, nil, x(`"shape":[1,3],"datatype":"INT8","data":[1,128,3]`), 400,
			`input \"X\": element 1 must be INT8, got 128`},
		{"below UINT8", "", infer, nil, x(`"shape":[1,3],"datatype":"UINT8","data":[1,-1,3]`), 400,
			`input \"X\": element 1 must be UINT8, got -1`},
		{"half of an INT64", "", infer, nil, x(`"shape":[1,3],"datatype":"INT64","data":[1,1.5,3]`), 400,
			`input \"X\": element 1 must be INT64, got 1.5`},
		{"number in BYTES", "", "/v2/models/chance/infer", nil,
			`{"inputs":[{"name":"city","shape":[1],"datatype":"BYTES","data":[7]}]}`, 400,
			`input \"city\": element 0 must be a string, got a number`},
		{"numbers for a date", "", "/v2/models/chance/infer", nil,
			`{"inputs":[{"name":"sold","shape":[1],"datatype":"FP64","data":[7]}]}`, 400,
			`column \"sold\": datatype must be BYTES with a date such as 2024-03-31, got FP64; column \"age\": has no input`},
		{"no output", "", infer, nil,
			`{"inputs":[{"name":"X","shape":[1,3],"datatype":"FP64","data":[1,2,3]}],"outputs":[{"name":"label"}]}`, 400,
			`output \"label\": unknown; available: value`},
		{"many outputs", "", infer, nil, `{"inputs":[],"outputs":[` + strings.Repeat(`{"name":"value"},`, 3000) +
			`{"name":"value"}]}`, 400, `number of outputs: must be at most 2, got 3001; available: value`},
		{"many inputs", "", infer, nil, `{"inputs":[` +
			strings.Repeat(`{"name":"a","shape":[1],"datatype":"INT8","data":[1]},`, 1000) + `{}]}`, 400,
			`an input has no name`},
		{"output twice", "", infer, nil,
			`{"inputs":[{"name":"X","shape":[1,3],"datatype":"FP64","data":[1,2,3]}],"outputs":[{"name":"value"},{"name":"value"}]}`, 400, `duplicate output \"value\"`},
		{"shared memory", "", infer, nil, x(`"shape":[1,3],"datatype":"FP64","parameters":{"shared_memory_region":"a"}`), 400,
			`an input: shared memory is not supported; send the data; input \"X\" has no data`},
		{"classification", "", infer, nil,
			`{"inputs":[{"name":"X","shape":[1,3],"datatype":"FP64","data":[1,2,3]}],"outputs":[{"name":"value","parameters":{"classification":2}}]}`, 400, `an output: classification is not supported; request the output probabilities or scores`},
		{"number for an id", "", infer, nil, `{"id":7,"inputs":[]}`, 400, `id: must be a string, got a number`},
		{"another model in the body", "", infer, nil, `{"model_name":"chance","inputs":[]}`, 400,
			`the body names model \"chance\", version \"\", but the path names model \"nrent\", version \"1\"`},
		{"unknown key", "", infer, nil, `{"inputz":[]}`, 400,
			`key: must be id, parameters, inputs or outputs, got \"inputz\"`},
		{"flag of a number", "", infer, nil, `{"parameters":{"binary_data_output":1},"inputs":[]}`, 400,
			`parameter binary_data_output: must be true or false, got a number`},

		// Binary data.
		{"binary cut off", "", infer, binary(fmt.Sprint(len(head))), head + strings.Repeat("\x00", 20), 400,
			`input \"X\": binary_data_size must be at most the 20 bytes left after the JSON, got 24; set the header Inferen`},
		{"binary of another length", "", infer, binary(fmt.Sprint(len(head))),
			strings.Replace(head, "24", "16", 1) + strings.Repeat("\x00", 16), 400,
			`input \"X\": must have 24 bytes for shape [1 3] of FP64, got 16`},
		{"binary left over", "", infer, binary(fmt.Sprint(len(head))), head + strings.Repeat("\x00", 32), 400,
			`8 bytes follow the data of the last input`},
		{"binary without its header", "", infer, nil, head, 400,
			`input \"X\": binary_data_size must be at most the 0 bytes left after the JSON, got 24; set the header Inferenc`},
		{"binary header of a word", "", infer, binary("many"), head, 400,
			`header Inference-Header-Content-Length: must be the number of bytes of JSON at the start of the body, at most `},
		{"binary header negative", "", infer, binary("-5"), head, 400,
			`header Inference-Header-Content-Length: must be the number of bytes of JSON at the start of the body, at most `},
		{"binary header beyond the body", "", infer, binary("99999"), head, 400,
			`header Inference-Header-Content-Length: must be the number of bytes of JSON at the start of the body, at most `},
		{"binary size negative", "", infer, binary(fmt.Sprint(len(head))), strings.Replace(head, "24", "-4", 1) + "    ", 400,
			`parameter binary_data_size: must be an integer ≥ 0, got -4; input \"X\" has no data; 4 bytes follow the data o`},
		{"binary and JSON", "", infer, binary("0"), "", 400, "an object such as"},
		{"binary infinite", "", infer, binary(fmt.Sprint(len(head))),
			head + "\x00\x00\x00\x00\x00\x00\xf0\x7f" + strings.Repeat("\x00", 16), 400,
			`input \"X\": element 0 must be finite`},
		{"binary text cut off", "", "/v2/models/chance/infer", binary(fmt.Sprint(len(text))), text + "\xff\xff\xff\xffab",
			400, `input \"city\": data end inside element 0 of 1`},
		{"binary text left over", "", "/v2/models/chance/infer", binary(fmt.Sprint(len(text))), text + "\x01\x00\x00\x00ab",
			400, `input \"city\": 1 bytes follow the last of 1 elements`},
		{"data and binary data", "", infer, binary(fmt.Sprint(len(head) + 15)),
			strings.Replace(head, `"FP64",`, `"FP64","data":[1,2,3],`, 1) + strings.Repeat("\x00", 24), 400, ""},
	}
}

// listening starts a server for bad requests and returns its address.
func listening(t *testing.T, o serve.ListenOptions) (*serve.Server, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := started(t, serve.Options{TokenFile: file, Limits: serve.Limits{MaxRows: 100, MaxBodyBytes: 1 << 16}})
	return s, listen(t, s, o)
}

// listen serves s until the test ends.
func listen(t *testing.T, s *serve.Server, o serve.ListenOptions) string {
	t.Helper()
	addr, stop, done := begin(t, s, o)
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return addr
}

// begin serves s until stop is called; done receives the error.
func begin(t *testing.T, s *serve.Server, o serve.ListenOptions) (addr string, stop func(), done chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(ctx)
	t.Cleanup(stop)
	done = make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, o) }()
	return l.Addr().String(), stop, done
}

// Every bad request is rejected with its status and an informative message, and leaks neither
// goroutines, requests nor memory.
func TestBadRequests(t *testing.T) {
	s, addr := listening(t, serve.ListenOptions{})
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2}}
	send := func(b bad) (int, string) {
		r, err := http.NewRequest("POST", "http://"+addr+"/v1/models/chance:predict", strings.NewReader(b.body))
		if err != nil {
			t.Fatal(err)
		}
		if b.path != "" {
			if r.URL, err = r.URL.Parse("http://" + addr + strings.ReplaceAll(b.path, "..", "%2e%2e")); err != nil {
				t.Fatal(err)
			}
		}
		if b.method != "" {
			r.Method = b.method
		}
		r.Header.Set("Authorization", "Bearer sesame")
		r.Header.Set("Content-Type", "application/json")
		for k := 0; k < len(b.header); k += 2 {
			r.Header.Set(b.header[k], b.header[k+1])
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		return answer.StatusCode, string(text)
	}
	all := badRequests()
	if len(all) < 60 {
		t.Fatalf("only %d kinds of bad requests", len(all))
	}
	for _, b := range all { // also warms up
		code, text := send(b)
		var got struct{ Error string }
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != b.code || !strings.Contains(text, b.message) ||
			code != 200 && (got.Error == "" || len(got.Error) > 4000) {
			t.Errorf("%s: %d %.600s\nwanted %d %s", b.name, code, text, b.code, b.message)
		}
	}
	client.CloseIdleConnections()
	goroutines, heap := settled(), inUse()
	for range 3 {
		for _, b := range all {
			send(b)
		}
	}
	client.CloseIdleConnections()
	if now := settled(); now > goroutines {
		t.Errorf("%d goroutines, before %d", now, goroutines)
	}
	if now := inUse(); now > heap+4<<20 {
		t.Errorf("%d bytes in use, before %d", now, heap)
	}
	metrics := ask(s, "GET", "/metrics", "", "Authorization", "Bearer sesame").body
	for _, want := range []string{"bochner_requests_in_flight 0\n", "bochner_requests_waiting 0\n",
		"bochner_request_memory_bytes 0\n", "bochner_panics_total 0\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics have no %s", want)
		}
	}
}

// settled returns the number of goroutines after connections have ended.
func settled() int {
	least := runtime.NumGoroutine()
	for range 50 {
		time.Sleep(4 * time.Millisecond)
		least = min(least, runtime.NumGoroutine())
	}
	return least
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Slow and disconnected clients time out.
func TestSlowClients(t *testing.T) {
	s, addr := listening(t, serve.ListenOptions{ReadHeaderTimeout: 50 * time.Millisecond,
		ReadTimeout: 100 * time.Millisecond})
	head := "POST /v1/models/chance:predict HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer sesame\r\nContent-Type: " +
		"application/json\r\nContent-Length: 5000\r\n"
	dial := func(text string) net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_, err = io.WriteString(c, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	slow := dial(head + "\r\n" + `{"rows":[`)
	defer slow.Close()
	answer, err := http.ReadResponse(bufio.NewReader(slow), nil)
	if err != nil || answer.StatusCode != http.StatusRequestTimeout || !answer.Close {
		t.Errorf("a slow body: %+v, %v", answer, err)
	}
	never := dial(head[:60])
	defer never.Close()
	if text, err := io.ReadAll(never); err != nil || len(text) > 0 && !strings.HasPrefix(string(text), "HTTP/1.1 4") {
		t.Errorf("a slow head: %q, %v", text, err)
	}
	dial(head + "\r\n" + `{"rows":[`).Close()
	settled()
	if metrics := ask(s, "GET", "/metrics", "", "Authorization", "Bearer sesame").body; !strings.Contains(metrics,
		"bochner_requests_in_flight 0\n") || !strings.Contains(metrics, "bochner_request_memory_bytes 0\n") {
		t.Error("a client that went away is still there")
	}
}

package jsonl_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/jsonl"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
	"github.com/bochner-ml/bochner/internal/testing/canceltest"
)

var ctx = context.Background()

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// both writes the same rows as CSV and as JSON lines: missing values as null, as the empty string
// or as missing keys, keys in random order, characters with and without escapes.
func both(rng *rand.Rand, n int) (asCSV, asJSON string) {
	var c, j strings.Builder
	names := []string{"quantity", "word", "count", "group", "weight", "sold", "y"}
	c.WriteString(strings.Join(names, ",") + "\n")
	words := []string{"red", "green", `say "no"`, "naïve", "日本", "tab\tin", "a/b", `back\slash`, "null", "💡"}
	for i := range n {
		values := []any{rng.NormFloat64() * math.Pow(10, float64(rng.IntN(40)-20)), words[rng.IntN(len(words))],
			rng.IntN(1000), fmt.Sprintf("g%d", rng.IntN(20)),
			1 + rng.IntN(3), fmt.Sprintf("2024-%02d-%02d", 1+rng.IntN(12), 1+rng.IntN(28)),
			[]string{"no", "yes"}[min(i, rng.IntN(2))]}
		var fields, pairs []string
		for k, v := range values {
			if i > 0 && k < 3 && rng.IntN(9) == 0 {
				fields = append(fields, "")
				switch rng.IntN(4) {
				case 0:
					pairs = append(pairs, fmt.Sprintf("%q: null", names[k]))
				case 1:
					pairs = append(pairs, fmt.Sprintf("%q:NaN", names[k]))
				case 2:
					pairs = append(pairs, fmt.Sprintf("%q:\t\"\"", names[k]))
				}
				continue
			}
			text, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			if s, ok := v.(string); ok {
				fields = append(fields, `"`+strings.ReplaceAll(s, `"`, `""`)+`"`)
				if rng.IntN(3) == 0 { // escape all characters
					text = []byte(`"`)
					for _, r := range s {
						if r > 0xffff {
							text = fmt.Appendf(text, `\u%04x\u%04X`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
						} else {
							text = fmt.Appendf(text, `\u%04x`, r)
						}
					}
					text = append(text, '"')
				}
			} else {
				fields = append(fields, string(text))
			}
			pairs = append(pairs, fmt.Sprintf(" %q : %s", names[k], text))
		}
		if i > 0 && rng.IntN(4) == 0 {
			rng.Shuffle(len(pairs), func(a, b int) { pairs[a], pairs[b] = pairs[b], pairs[a] })
		}
		c.WriteString(strings.Join(fields, ",") + "\n")
		j.WriteString("{" + strings.Join(pairs, ",") + "}" + []string{"\n", "\r\n", "\n\n \n"}[rng.IntN(3)])
	}
	return c.String(), j.String()
}

func gather(t testing.TB, src datasets.Source) datasets.Set {
	t.Helper()
	set, err := datasets.ReadAll(ctx, src)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestSameAsCSV checks that rows equal those of the CSV file, bit for bit and including the schema,
// for all roles of columns.
func TestSameAsCSV(t *testing.T) {
	t.Chdir(t.TempDir())
	asCSV, asJSON := both(rand.New(rand.NewPCG(1, 2)), 5000)
	write(t, "rows.csv", asCSV)
	write(t, "rows.jsonl", asJSON)
	lines := strings.SplitAfter(asJSON, "\n")
	for k := range 5 {
		write(t, fmt.Sprintf("part-%d.jsonl", k), strings.Join(lines[k*len(lines)/5:(k+1)*len(lines)/5], ""))
	}
	write(t, "none.jsonl", "\n")
	dates := map[string]datasets.Date{"sold": {}}
	for what, roles := range map[string]datasets.Roles{
		"all": {Target: []string{"y"}, Weight: "weight", Group: "group", Dates: dates,
			Passthrough: []string{"word", "count"}},
		"positive": {Target: []string{"word"}, Positive: []string{"red", "日本"}, DropMissingTarget: true,
			Drop: []string{"sold"}},
		"numbers": {Target: []string{"quantity", "count"}, DropMissingTarget: true, Dates: dates},
		"kinds": {Target: []string{"y"}, Kinds: map[string]datasets.Kind{"count": datasets.Categorical},
			Drop: []string{"group"}},
	} {
		want, err := csv.Options{Roles: roles}.Open(ctx, "rows.csv")
		if err != nil {
			t.Fatal(err)
		}
		for _, paths := range [][]string{{"rows.jsonl"}, {"part-0.jsonl", "none.jsonl", "part-1.jsonl", "part-2.jsonl",
			"part-3.jsonl", "part-4.jsonl"}} {
			got, err := jsonl.Options{Roles: roles}.Open(ctx, paths[0], paths[1:]...)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if a, b := got.Schema(), want.Schema(); !reflect.DeepEqual(a, b) {
				t.Errorf("%s: schema\n%v, want\n%v", what, a, b)
			}
			sourcetest.Equal(t, gather(t, got), gather(t, want))
			schema := want.Schema()
			coded := roles
			coded.Schema = &schema
			again, err := jsonl.Options{Roles: coded}.Open(ctx, paths[0], paths[1:]...)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			sourcetest.Equal(t, gather(t, again), sourcetest.GroupsByAppearance(gather(t, want)))
		}
	}
}

// TestConformance runs the conformance test of sources, and checks cancellation.
func TestConformance(t *testing.T) {
	t.Chdir(t.TempDir())
	_, text := both(rand.New(rand.NewPCG(3, 4)), 5000)
	write(t, "rows.ndjson", text)
	o := jsonl.Options{Roles: datasets.Roles{Target: []string{"y"}, Drop: []string{"sold"}}}
	src, err := o.Open(ctx, "rows.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Run(t, src)
	err = canceltest.Check(func(ctx context.Context) (bool, error) {
		set, err := o.ReadFile(ctx, "rows.ndjson")
		return set.Rows() > 0, err
	})
	if err != nil {
		t.Error(err)
	}
}

// The values of a key determine the kind of its column.
func TestKinds(t *testing.T) {
	for _, c := range []struct {
		text string
		o    datasets.Roles
		want string
	}{
		{`{"a":1}` + "\n" + `{"a":2.5}`, datasets.Roles{}, "a numeric: 1 2.5"},
		{`{"a":"1"}` + "\n" + `{"a":"02"}`, datasets.Roles{}, "a [1 02]: 0 1"},
		{`{"a":"10"}` + "\n" + `{"a":"9"}`, datasets.Roles{}, "a [9 10]: 1 0"},
		{`{"a":true}` + "\n" + `{"a":false}` + "\n{\"a\":null}", datasets.Roles{}, "a numeric: 1 0 NaN"},
		{`{"a":true}` + "\n" + `{"a":3}`, datasets.Roles{}, "a numeric: 1 3"},
		{`{"a":true}` + "\n" + `{"a":"x"}` + "\n{\"a\":3}", datasets.Roles{}, "a [3 true x]: 1 2 0"},
		{`{"a":true}` + "\n" + `{"a":false}`, datasets.Roles{Kinds: map[string]datasets.Kind{"a": datasets.Categorical}},
			"a [false true]: 1 0"},
		{`{"a":"1"}` + "\n" + `{"a":" 2.50"}`, datasets.Roles{Kinds: map[string]datasets.Kind{"a": datasets.Numeric}},
			"a numeric: 1 2.5"},
		{`{"a":null}` + "\n" + `{"b":1}`, datasets.Roles{}, "a numeric: NaN NaN; b numeric: NaN 1"},
		{`{"a":1,"t":{"deep":[1,{}]}}`, datasets.Roles{Drop: []string{"t"}}, "a numeric: 1"},
		{`{"a":1,"t":true}` + "\n" + `{"a":2,"t":false}`, datasets.Roles{Target: []string{"t"}},
			"a numeric: 1 2; [false true]: 1 0"},
		{`{"t":true,"a":1}` + "\n" + `{"a":2,"t":false}`, datasets.Roles{Target: []string{"0"}},
			"a numeric: 1 2; [false true]: 1 0"},
		{`{"a":1,"t":"1"}` + "\n" + `{"a":2,"t":"0"}`, datasets.Roles{Target: []string{"-1"}}, "a numeric: 1 2; [0 1]: 1 0"},
		{`{"a":1,"t":"1"}` + "\n" + `{"a":2,"t":"0"}`, datasets.Roles{Target: []string{"-1"}, Task: datasets.Regression},
			"a numeric: 1 2; numeric: 1 0"},
		{`{"a":"NaN"}` + "\n" + `{"a":"nan"}` + "\n" + `{"a":-0.0}`, datasets.Roles{}, "a numeric: NaN NaN -0"},
		{`{"a":1e-400}` + "\n" + `{"a":12345678901234567890123}` + "\n" + `{"a":0.1e+2}`, datasets.Roles{},
			"a numeric: 0 1.2345678901234568e+22 10"},
	} {
		set, err := jsonl.Options{Roles: c.o}.Read(ctx, strings.NewReader(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var parts []string
		describe := func(c datasets.Column, at func(i int) float64) {
			kind := "numeric"
			if c.Kind == datasets.Categorical {
				kind = fmt.Sprint(c.Categories)
			}
			for i := range set.Rows() {
				kind += fmt.Sprintf("%s%v", map[bool]string{true: ": ", false: " "}[i == 0], at(i))
			}
			parts = append(parts, kind)
		}
		for j, col := range set.Schema.Columns {
			describe(col, func(i int) float64 { return set.X.At(i, j) })
			parts[j] = col.Name + " " + parts[j]
		}
		for _, target := range set.Schema.Targets {
			describe(target, func(i int) float64 { return set.Y[i] })
		}
		if got := strings.Join(parts, "; "); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

// Errors have the line, and the position or the key.
func TestErrors(t *testing.T) {
	schema := &datasets.Schema{Columns: []datasets.Column{{Name: "a"},
		{Name: "k", Kind: datasets.Categorical, Categories: []string{"x"}}}, Targets: []datasets.Column{{Name: "y"}}}
	many := strings.Repeat(`{"a":1}`+"\n", 19) + `{"a":"n/a"}` + "\n"
	for _, c := range []struct {
		text string
		o    jsonl.Options
		want string
	}{
		{"", jsonl.Options{}, "input: empty file"},
		{" \n\n", jsonl.Options{}, "input: empty file"},
		{"{}\n{}\n", jsonl.Options{}, "input: no column is left to learn from"},
		{"[1,2]", jsonl.Options{}, `input:1:1: must be an object, one on each line, got '['`},
		{"{\"a\":1}\n{\n\"a\":2}", jsonl.Options{}, `input:2:2: must be a key in quotes, got the end of the line`},
		{`{"a":1,}`, jsonl.Options{}, `input:1:8: must be a key in quotes, got '}'`},
		{`{"a" 1}`, jsonl.Options{}, `input:1:6: must be a colon behind the key, got '1'`},
		{`{"ä":1 "b":2}`, jsonl.Options{}, `input:1:8: must be a comma or }, got '"'`},
		{`{"a":1} {"a":2}`, jsonl.Options{}, `input:1:9: must be nothing behind the document, got '{'`},
		{`{"a":x}`, jsonl.Options{}, `input:1:6: must be a value, got 'x'`},
		{`{"a":nul}`, jsonl.Options{}, `input:1:6: must be a value, got 'n'`},
		{`{"a":01}`, jsonl.Options{}, `input:1:6: a number begins with 0`},
		{`{"a":-}`, jsonl.Options{}, `input:1:7: must be a digit, got '}'`},
		{`{"a":1.}`, jsonl.Options{}, `input:1:8: must be a digit, got '}'`},
		{`{"a":1e}`, jsonl.Options{}, `input:1:8: must be a digit, got '}'`},
		{`{"a":-Infinity}`, jsonl.Options{},
			`input:1:6: must be a number, got -Infinity, which is not JSON (use null for a missing value)`},
		{`{"a":1e400}`, jsonl.Options{Roles: datasets.Roles{Kinds: map[string]datasets.Kind{"a": datasets.Numeric}}},
			`input:1: column a: "1e400" is not a number`},
		{`{"a":"\x"}`, jsonl.Options{}, `input:1:8: must be one of " \ / b f n r t u behind the backslash, got 'x'`},
		{`{"a":"\u12g4"}`, jsonl.Options{}, `input:1:11: must be a hexadecimal digit, got 'g'`},
		{"{\"a\":\"tab\there\"}", jsonl.Options{},
			`input:1:10: must be an escape such as \n or \u0000 for a letter that does not show, got '\t'`},
		{`{"a":"open}`, jsonl.Options{}, `input:1:12: must be the " at the end of a string, got the end of the line`},
		{`{"a":[1,2`, jsonl.Options{}, `input:1:10: must be a comma or ], got the end of the line`},
		{`{"a":[1,2}`, jsonl.Options{}, `input:1:10: must be a comma or ], got '}'`},
		{`{"a":[1,,2]}`, jsonl.Options{}, `input:1:9: must be a value, got ','`},
		{"{\"a\":\"caf\xe9\"}", jsonl.Options{}, `input:1:10: this is not UTF-8`},
		{`{"":1}`, jsonl.Options{}, `input:1: key must not be empty`},
		{"{\"a\":1}\n{\"a\":1,\"b\":2,\"a\":3}", jsonl.Options{}, `input:2: key "a" is there twice`},
		{"{\"a\":1}\n{\"a\":[1],\"b\":{}}\n{\"a\":{}}", jsonl.Options{},
			"input:2: column a: must be a number, a string, true, false or null, got an object or an array; exclude it with " +
				"data.drop (Roles.Drop in Go)\n" +
				"input:2: column b: must be a number, a string, true, false or null, got an object or an array; exclude it with " +
				"data.drop (Roles.Drop in Go)"},
		{many, jsonl.Options{}, `input:20: column a: "n/a" is not a number, though 95 % of the values are; if it denotes a missing value, add it to missing; if the column is text, set kinds: {a: categorical}`},
		{`{"a":1,"y":2}`, jsonl.Options{Roles: datasets.Roles{Target: []string{"z"}}},
			`input: target: no column "z"; there are a, y`},
		{"{\"a\":1,\"k\":\"x\",\"y\":2}\n{\"a\":1,\"z\":1}", jsonl.Options{Roles: datasets.Roles{Schema: schema}},
			`input:2: column "z" is not in the schema; drop it`},
		{`{"a":1,"k":"x"}`, jsonl.Options{Roles: datasets.Roles{Schema: schema}},
			`input:1: column y: the target is missing; set missing_target: drop to skip such rows`},
		{`{"a":"one","k":"x","y":1}`, jsonl.Options{Roles: datasets.Roles{Schema: schema}},
			`input:1: column a: "one" is not a number`},
		{`{"a":[],"k":"x","y":1}`, jsonl.Options{Roles: datasets.Roles{Schema: schema}},
			`input:1: column a: must be a number, a string, true, false or null, got an object or an array; exclude it with data.drop (Roles.Drop in Go)`},
		{`{"a":1}`, jsonl.Options{MaxRecord: 3}, `input:1: line too long: more than 3 bytes`},
		{`{"a":1}`, jsonl.Options{MaxRecord: -3}, `input: a bound on records is not negative`},
	} {
		_, err := c.o.Read(ctx, strings.NewReader(c.text))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwanted %s", c.text, err, c.want)
		}
	}
	if set, err := (jsonl.Options{Missing: []string{"n/a"}}).Read(ctx, strings.NewReader(many)); err != nil ||
		!math.IsNaN(set.X.At(19, 0)) {
		t.Error(err)
	}
	// Rows with a schema may have other keys, and lack some.
	o := jsonl.Options{Roles: datasets.Roles{Schema: schema, IgnoreExtra: true, Unlabeled: true}}
	if set, err := o.Read(ctx, strings.NewReader(`{"z":{},"k":"y"}`)); err != nil || !math.IsNaN(set.X.At(0, 0)) ||
		set.X.At(0, 1) != datasets.Unknown || !math.IsNaN(set.Y[0]) {
		t.Error(set, err)
	}
	if _, err := (jsonl.Options{}).Open(ctx, "gone.jsonl"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := (jsonl.Options{}).Read(ctx, iotest.ErrReader(io.ErrNoProgress)); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

// TestFiles checks that files may be compressed or not, in any file system, and are not modified.
func TestFiles(t *testing.T) {
	_, text := both(rand.New(rand.NewPCG(5, 6)), 300)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, text)
	z.Close()
	files := fstest.MapFS{"plain.jsonl": {Data: []byte("\ufeff" + text)}, "packed.jsonl.gz": {Data: packed.Bytes()}}
	o := jsonl.Options{Roles: datasets.Roles{Target: []string{"y"}}, FS: files}
	plain, err := o.ReadFile(ctx, "plain.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := o.ReadFile(ctx, "packed.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Equal(t, plain, unpacked)
	src, err := o.Open(ctx, "plain.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	files["plain.jsonl"] = &fstest.MapFile{Data: []byte(text + `{"new":1}`)}
	if _, err := datasets.ReadAll(ctx, src); !errors.Is(err, datasets.ErrChanged) {
		t.Error(err)
	}
}

// FuzzRead checks that every text gives rows or an error, and that rows are those parsed by package
// encoding/json.
func FuzzRead(f *testing.F) {
	_, text := both(rand.New(rand.NewPCG(7, 8)), 20)
	for _, s := range []string{text, `{"a":1}`, `{"a":"1","b":true,"c":null}`, `{"a":"\u00e4\ud83d\ude00\ud800"}`,
		`{"a":[1,{"b":"}"}]}`, "{\"a\":1e5}\n\n{\"b\":-0.5}\n", `{"a":NaN}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		set, err := jsonl.Options{Missing: []string{}}.Read(ctx, strings.NewReader(text))
		if err != nil {
			return
		}
		i := 0
		for _, line := range strings.Split(strings.TrimPrefix(text, "\ufeff"), "\n") {
			if strings.Trim(line, " \t\r") == "" {
				continue
			}
			if strings.Contains(line, "NaN") {
				i++
				continue // which JSON does not have
			}
			want := map[string]any{}
			if err := json.Unmarshal([]byte(line), &want); err != nil {
				t.Fatalf("%q is read: %v", line, err)
			}
			for j, c := range set.Schema.Columns {
				v := set.X.At(i, j)
				switch w := want[c.Name].(type) {
				case nil:
					if !math.IsNaN(v) {
						t.Fatalf("%q: %s is %v", line, c.Name, v)
					}
				case float64:
					if c.Kind == datasets.Numeric && v != w {
						t.Fatalf("%q: %s is %v, want %v", line, c.Name, v, w)
					}
				case bool:
					if c.Kind == datasets.Numeric && (v == 1) != w {
						t.Fatalf("%q: %s is %v, want %v", line, c.Name, v, w)
					}
				case string:
					if c.Kind == datasets.Categorical && w != "" && c.Categories[int(v)] != w {
						t.Fatalf("%q: %s is %v, want %q", line, c.Name, c.Categories[int(v)], w)
					}
				}
			}
			i++
		}
		if i != set.Rows() {
			t.Fatalf("%d rows of %d", set.Rows(), i)
		}
	})
}

// BenchmarkRead reads rows of 20 numbers with a known schema: one pass, into blocks.
func BenchmarkRead(b *testing.B) {
	for _, digits := range []int{4, 17} {
		b.Run(fmt.Sprintf("digits=%d", digits), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			var text bytes.Buffer
			for range 20_000 {
				for k := range 20 {
					fmt.Fprintf(&text, `%c"a%d": %.*g`, "{,"[min(k, 1)], k, digits, rng.NormFloat64()*10)
				}
				text.WriteString("}\n")
			}
			path := b.TempDir() + "/rows.jsonl"
			write(b, path, text.String())
			src, err := jsonl.Options{}.Open(ctx, path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if err := src.Blocks(ctx, func(datasets.Set) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

package serve_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
)

// values draws JSON values, including missing and unknown ones.
func values(schema datasets.Schema, n int, rng *rand.Rand) []map[string]any {
	out := make([]map[string]any, n)
	for i := range out {
		row := map[string]any{}
		for _, c := range schema.Columns {
			var v any
			switch k := rng.IntN(8); {
			case k == 0:
				v = nil
			case k == 1 && schema.Missing != nil:
				v = []any{"", "?", "NA"}[rng.IntN(3)]
			case k == 2 && c.Kind == datasets.Categorical:
				v = []any{"unheard of", true, false, 10.0, 20, 3.5, 7.0, "7.0", "Oslo ", "lead"}[rng.IntN(10)]
			case c.Kind == datasets.Categorical:
				v = c.Categories[rng.IntN(len(c.Categories))]
			case k == 2:
				v = []any{"-12.5", " 3 ", true, false, 1e-9, 3000000000, "2e3"}[rng.IntN(7)]
			default:
				v = rng.NormFloat64()
			}
			row[c.Name] = v
		}
		if _, dated := row["sold_year"]; dated && rng.IntN(2) == 0 {
			delete(row, "sold_year")
			delete(row, "sold_month")
			row["sold"] = []any{nil, "2003-05-17", "2003/5/1", "17.5.2003 13:00", "", "?"}[rng.IntN(6)]
		}
		out[i] = row
	}
	return out
}

// Responses equal PredictRows bit for bit, for every kind of model.
func TestPredictMatchesModel(t *testing.T) {
	s := started(t, serve.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	for name, m := range fitted() {
		for _, n := range []int{0, 1, 2, 50} {
			given := values(m.Schema, n, rng)
			body, err := json.Marshal(map[string]any{"rows": given})
			if err != nil {
				t.Fatal(err)
			}
			want, err := m.PredictRows(ctx, given)
			if err != nil {
				t.Fatal(err)
			}
			got := ask(s, "POST", "/v1/models/"+name+":predict", string(body), "Content-Type", "application/json")
			var answer struct {
				Model, Version string
				Predictions    []modelfile.RowPrediction
			}
			if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.code != 200 {
				t.Fatalf("%s: %d %s: %v", name, got.code, got.body, err)
			}
			if answer.Model != name || answer.Version != "1" || len(answer.Predictions) != n {
				t.Fatalf("%s: %s", name, got.body)
			}
			for i := range want {
				if len(want[i].Set) == 0 { // JSON does not distinguish it from none
					want[i].Set, answer.Predictions[i].Set = nil, nil
				}
				if !reflect.DeepEqual(answer.Predictions[i], want[i]) {
					t.Fatalf("%s, row %d, %v:\n%+v, want\n%+v", name, i, given[i], answer.Predictions[i], want[i])
				}
			}
		}
	}
}

// All JSON notations of numbers and strings are accepted.
func TestPredictReadsAllOfJSON(t *testing.T) {
	s := started(t, serve.Options{})
	plain := ask(s, "POST", "/v1/models/chance:predict",
		`{"rows":[{"age":1.5,"city":"naïve","zip":"20","member":"True","sold_year":2001,"sold_month":2,"size":-300}]}`)
	if plain.code != 200 {
		t.Fatal(plain.body)
	}
	for _, row := range []string{
		`{"age":15e-1,"city":"na\u00efve","zip":"20","member":"True","sold_year":2001,"sold_month":2,"size":-3e+2}`,
		` { "size" : -300.0 , "sold" : "2001-02-28" , "age" : "1.5" , "city" : "naïve" , "zip" : 20.0 , "member" : true } `,
		"{\n\t\"zip\":2E1,\"\\u0061ge\":1.50,\"city\":\"naïve\",\"member\":\"Tr\\u0075e\",\"sold_year\":\"2001\",\"sold_month\":2,\"size\":-300,\"y\":{\"ignored\":[1,{\"deep\":null}]}}",
	} {
		if got := ask(s, "POST", "/v1/models/chance/versions/1:predict", `{"rows":[`+row+`]}`); got.body != plain.body {
			t.Errorf("%s: %s, want %s", row, got.body, plain.body)
		}
	}
}

// Unknown categories are counted in the response and in the metrics; blanks around a category are ignored.
func TestUnknownCategoriesAreCounted(t *testing.T) {
	s := started(t, serve.Options{})
	row := func(city, zip string) string {
		return fmt.Sprintf(`{"age":1,"city":%q,"zip":%q,"member":"True","sold_year":2001,"sold_month":2,"size":3}`, city, zip)
	}
	body := func(rows ...string) string { return `{"rows":[` + strings.Join(rows, ",") + `]}` }
	known := ask(s, "POST", "/v1/models/chance:predict", body(row("Oslo", "20"), row(" lead", "7")))
	padded := ask(s, "POST", "/v1/models/chance:predict", body(row(" Oslo ", "20  "), row("lead", "7")))
	if known.code != 200 || padded.body != known.body || strings.Contains(known.body, "unknown") {
		t.Errorf("known %s, padded %s", known.body, padded.body)
	}
	got := ask(s, "POST", "/v1/models/chance:predict", body(row("Rome", "20"), row("Bonn", "20"), row("Oslo", "99")))
	if !strings.HasSuffix(got.body, `],"unknown_categories":{"city":2,"zip":1}}`) {
		t.Errorf("the response is %s", got.body)
	}
	ask(s, "POST", "/v1/models/chance:predict", body(row("Rome", "20")))
	metrics := ask(s, "GET", "/metrics", "").body
	for _, line := range []string{`bochner_unknown_categories_total{model="chance",column="city"} 3`,
		`bochner_unknown_categories_total{model="chance",column="zip"} 1`} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("no %s in the metrics", line)
		}
	}
}

// Dates use the order of the experiment; dropped columns are ignored.
func TestRowsAreReadAsInTraining(t *testing.T) {
	m := *fitted()["rent"]
	m.Reading = "target: y\ndates: {sold: {order: dmy, parts: [year, month]}}\ndrop: [note]\nweight: w\ncsv: {missing: " +
		"[none]}\n"
	s, err := serve.New(serve.Options{})
	if err == nil {
		err = s.AddModel("rent", "1", &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	row := func(date, age string) string {
		return fmt.Sprintf(`{"rows":[{"age":%s,"city":"Oslo","zip":"20","member":"True",%s,"size":3,"note":"free","w":2,"y":1}]}`, age, date)
	}
	want := ask(s, "POST", "/v1/models/rent:predict", row(`"sold_year":2003,"sold_month":5`, "null"))
	for _, body := range []string{row(`"sold":"4/5/2003"`, "null"), row(`"sold":"2003-05-04"`, `"none"`)} {
		if got := ask(s, "POST", "/v1/models/rent:predict", body); got.code != 200 || got.body != want.body {
			t.Errorf("%s: %s, want %s", body, got.body, want.body)
		}
	}
	if got := ask(s, "POST", "/v1/models/rent:predict", row(`"sold":"2003-05-04"`, `"NA"`)); got.code != 400 ||
		!strings.Contains(got.body, `must be a number, got \"NA\"`) {
		t.Errorf("a string that this model does not take for missing: %s", got.body)
	}
}

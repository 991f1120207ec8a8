package ui_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/bochner-ml/bochner/estimator"
	"github.com/bochner-ml/bochner/internal/rows/protocol"
	"github.com/bochner-ml/bochner/serve"
	"github.com/bochner-ml/bochner/serve/ui"
	"github.com/bochner-ml/bochner/transformer"
)

// harmless checks a page for scripts, external resources, invalid IDs, missing labels and styles
// that violate the policy.
func harmless(t *testing.T, r reply) []element {
	t.Helper()
	page := parse(t, r.body)
	ids, labels := map[string]int{}, map[string]bool{}
	for _, e := range page {
		ids[e.attr["id"]]++
		labels[e.attr["for"]] = true
	}
	for _, e := range page {
		if slices.Contains([]string{"script", "iframe", "img", "object", "embed", "base"}, e.Data) {
			t.Errorf("there is a %s", e.Data)
		}
		for name, value := range e.attr {
			if strings.HasPrefix(name, "on") || name == "src" || name == "style" {
				t.Errorf("%s has %s=%q", e.Data, name, value)
			}
			if name == "href" && value != "data:," && !strings.HasPrefix(value, ".") && !strings.HasPrefix(value, "#") &&
				!strings.HasPrefix(value, "?") {
				t.Errorf("a link leads to %q", value)
			}
			if name == "aria-describedby" || name == "aria-labelledby" || name == "list" {
				for _, id := range strings.Fields(value) {
					if ids[id] != 1 {
						t.Errorf("%s of %s: there are %d of %s", name, e.Data, ids[id], id)
					}
				}
			}
		}
		if id := e.attr["id"]; id != "" && ids[id] > 1 {
			t.Errorf("the id %s is there %d times", id, ids[id])
		}
		if (e.Data == "input" || e.Data == "select") && !labels[e.attr["id"]] {
			t.Errorf("the field %q has no label", e.attr["name"])
		}
	}
	sum := sha256.Sum256([]byte(find(page, "style")[0].text()))
	policy := r.header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy,
		base64.StdEncoding.EncodeToString(sum[:])) || strings.Contains(policy, "script-src") ||
		strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q", policy)
	}
	if r.header.Get("Referrer-Policy") != "no-referrer" || r.header.Get("Cache-Control") != "no-store" ||
		r.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("the headers are %v", r.header)
	}
	return page
}

// The root page lists and links the models.
func TestList(t *testing.T) {
	s := started(t, serve.Options{})
	for _, path := range []string{"/", "/ui"} {
		if r := ask(s, "GET", path, ""); r.code != http.StatusSeeOther || r.header.Get("Location") != "ui/" {
			t.Errorf("%s: %d %v", path, r.code, r.header)
		}
	}
	page := harmless(t, ask(s, "GET", "/ui/", ""))
	var seen []string
	for _, row := range find(page, "tr")[1:] {
		link := parse(t, "<table>"+rendered(row)+"</table>")
		seen = append(seen, find(link, "a")[0].attr["href"]+" "+row.text())
	}
	if len(seen) != len(fitted()) || !slices.ContainsFunc(seen, func(s string) bool {
		return strings.HasPrefix(s, "./three threeclassification1") && strings.HasSuffix(s, "ready")
	}) {
		t.Errorf("the list has %q", seen)
	}
	if r := ask(s, "GET", "/ui/three/1", ""); r.code != 200 || !strings.Contains(r.body,
		`<a href="./../">All models</a>`) {
		t.Errorf("a version: %d %s", r.code, r.body)
	}
	bare, err := serve.New(serve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := ask(bare, "GET", "/ui/", ""); r.code != 404 {
		t.Errorf("pages that are not mounted: %d", r.code)
	}
}

// rendered returns the HTML of an element.
func rendered(e element) string {
	var b strings.Builder
	if err := html.Render(&b, e.Node); err != nil {
		panic(err)
	}
	return b.String()
}

// A model that failed to load is listed with the reason.
func TestBrokenModelIsListed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "bad.bochner"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Models: []string{filepath.Join(dir, "bad.bochner")}})
	if err != nil {
		t.Fatal(err)
	}
	s.Mount(ui.New(s))
	if err := s.Load(ctx); err == nil {
		t.Fatal("it is loaded")
	}
	r := ask(s, "GET", "/ui/", "")
	if page := harmless(t, r); len(find(page, "a")) != 0 || !strings.Contains(r.body, "file is damaged") ||
		strings.Contains(r.body, dir) {
		t.Error(r.body)
	}
	if r := ask(s, "GET", "/ui/bad", ""); r.code != 503 || r.header.Get("Retry-After") == "" {
		t.Errorf("its page: %d", r.code)
	}
}

// changed returns the typical row with some values replaced.
func changed(t *testing.T, s *serve.Server, model string) url.Values {
	t.Helper()
	r := ask(s, "GET", "/ui/"+model, "")
	given := filled(harmless(t, r))
	if r.code != 200 || len(given) == 0 {
		t.Fatalf("%s: %d, %v", model, r.code, given)
	}
	for name, value := range map[string]string{"age": "1.25", "city": " lead", "sold": "31/3/2004", "size m²": "-0.5",
		"é=ß&": "2", evil[2]: evil[4], "number 7 of many": "3"} {
		if given.Has(name) {
			given.Set(name, value)
		}
	}
	return given
}

// sent submits a form.
func sent(t *testing.T, s http.Handler, model string, given url.Values) reply {
	t.Helper()
	form := find(parse(t, ask(s, "GET", "/ui/"+model, "").body), "form")[0]
	if form.attr["method"] == "post" {
		return ask(s, "POST", "/ui/"+model, given.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	return ask(s, "GET", "/ui/"+model+"?"+given.Encode(), "")
}

// Pages and /v1 give the same prediction; the form keeps its values.
func TestPredictionIsThatOfRequests(t *testing.T) {
	s := started(t, serve.Options{})
	for name := range fitted() {
		if name == "widest" {
			continue
		}
		given := changed(t, s, name)
		r := sent(t, s, name, given)
		page := harmless(t, r)
		if r.code != 200 {
			t.Errorf("%s: %d %s", name, r.code, r.body)
			continue
		}
		if got := filled(page); !maps.EqualFunc(got, given, slices.Equal) {
			t.Errorf("%s: the form has %v, want %v", name, got, given)
		}
		want := predicted(t, s, name, given)
		message, all := find(page, ".prediction")[0].text(), find(page, ".result")[0].text()
		switch {
		case want.Class != "":
			if message != want.Class {
				t.Errorf("%s: output %q, want %q", name, message, want.Class)
			}
			for class, p := range want.Probabilities {
				if text := class + strconv.FormatFloat(100*p, 'f', 1, 64); p > 0.01 && p < 0.99 && !strings.Contains(all, text) {
					t.Errorf("%s: %q is not in %q", name, text, all)
				}
			}
			if want.Set != nil && !strings.Contains(all, "80\u00a0% prediction set: ") {
				t.Errorf("%s: no set in %q", name, all)
			}
		case name == "groups":
			if message != fmt.Sprintf("cluster %v", want.Value) {
				t.Errorf("%s: output %q", name, message)
			}
		case name == "strange":
			if (message == "an anomaly") != (want.Value == 1) || !strings.Contains(all, "score") {
				t.Errorf("%s: output %q of %v", name, message, want.Value)
			}
		case want.Targets != nil:
			for k, row := range find(page, "tr")[1:3] {
				near(t, name, parse(t, "<table>"+rendered(row)+"</table>"), "td", want.Targets[fmt.Sprintf("y %d", k)])
			}
		default:
			near(t, name, page, ".prediction", want.Value)
			if want.Lower != nil && !strings.Contains(all, "\u00a0% interval: ") {
				t.Errorf("%s: no interval in %q", name, all)
			}
		}
	}
}

// near compares the first element of a kind with a number, to four digits.
func near(t *testing.T, name string, page []element, what string, want float64) {
	t.Helper()
	text := strings.NewReplacer("−", "-", "\u202f", "", "+", "").Replace(find(page, what)[0].text())
	if got, err := strconv.ParseFloat(text, 64); err != nil || math.Abs(got-want) > 1e-3*math.Abs(want)+1e-3 {
		t.Errorf("%s: output %q, want %v", name, text, want)
	}
}

// Contributions sum to the difference between the predictions of the row and of the typical row, in descending order.
func TestEffects(t *testing.T) {
	s := started(t, serve.Options{})
	for _, name := range []string{"rent", "sure", "between", "bare"} {
		typical := filled(parse(t, ask(s, "GET", "/ui/"+name, "").body))
		given := changed(t, s, name)
		page := parse(t, sent(t, s, name, given).body)
		rows := find(parse(t, rendered(find(page, ".effects")[0])), "tr")[1:]
		before, sum, sizes := math.Inf(1), 0.0, 0.0
		for _, row := range rows {
			text := find(parse(t, "<table>"+rendered(row)+"</table>"), "td")[0].text()
			v, err := strconv.ParseFloat(strings.NewReplacer("−", "-", "\u202f", "", "+", "").Replace(text), 64)
			if err != nil || math.Abs(v) > before*(1+1e-3) {
				t.Errorf("%s: contribution %q after %v, %v", name, text, before, err)
			}
			before, sum, sizes = math.Abs(v), sum+v, sizes+math.Abs(v)
		}
		want := predicted(t, s, name, given).Value - predicted(t, s, name, typical).Value
		if math.Abs(sum-want) > 1e-3*sizes {
			t.Errorf("%s: contributions sum to %v, want %v", name, sum, want)
		}
		moving := 0
		for input := range given {
			if given.Get(input) != typical.Get(input) {
				moving++
			}
		}
		if len(rows) != moving || moving < 3 {
			t.Errorf("%s: %d effects of %d inputs", name, len(rows), moving)
		}
		if r := sent(t, s, name, typical); !strings.Contains(r.body, "Every input has its typical value") {
			t.Errorf("%s: a typical row: %s", name, r.body)
		}
	}
	if r := sent(t, s, "hundreds", changed(t, s, "hundreds")); !strings.Contains(r.body, "at most 200 inputs") {
		t.Error("effects of 300 inputs")
	}
	if r := ask(s, "GET", "/ui/widest", ""); r.code != 200 || strings.Contains(r.body, "<form") ||
		!strings.Contains(r.body, "The model has 501 inputs") {
		t.Errorf("a form of 501 inputs: %d", r.code)
	}
}

// Forms show hints and the typical row, or are empty without a profile.
func TestForm(t *testing.T) {
	s := started(t, serve.Options{})
	r := ask(s, "GET", "/ui/rent", "")
	given := filled(parse(t, r.body))
	if age, err := strconv.ParseFloat(given.Get("age"), 64); err != nil || math.Abs(age) > 0.5 {
		t.Errorf("the typical age is %q", given.Get("age"))
	}
	if given.Get("city") != "a+b&c" || !strings.HasPrefix(given.Get("sold"), "20") || len(given) != 4 {
		t.Errorf("the typical row is %v", given)
	}
	for _, want := range []string{"80 % between", "most frequent: a&#43;b&amp;c", "a date such as 2024-03-31 or 31/3/2024",
		"Regression of y 0."} {
		if !strings.Contains(r.body, want) {
			t.Errorf("no %q", want)
		}
	}
	for name, values := range filled(parse(t, ask(s, "GET", "/ui/bare", "").body)) {
		if values[0] != "" {
			t.Errorf("%s of a model without a profile is %q", name, values)
		}
	}
}

// All errors are shown next to their fields, and values are kept.
func TestWrongForms(t *testing.T) {
	s := started(t, serve.Options{})
	const fine = "age=1&city=Oslo&sold=2004-03-31&size+m%C2%B2=2"
	big := strings.Repeat("x", protocol.MaxPageBytes)
	form := "application/x-www-form-urlencoded"
	for _, c := range []struct {
		method, path, body, kind string
		code                     int
		message                  []string
	}{
		{"GET", "rent?" + fine, "", "", 200, nil},
		{"POST", "rent", fine, form, 200, nil},
		{"HEAD", "rent?" + fine, "", "", 200, nil},
		{"GET", "rent?" + strings.Replace(fine, "Oslo", "Rome", 1), "", "", 200,
			[]string{"does not occur in the training rows"}},
		{"GET", "rent?" + strings.Replace(fine, "Oslo", "", 1), "", "", 200, nil},
		{"GET", "rent?age=old&city=Oslo&sold=tomorrow&size+m%C2%B2=1,5", "", "", 400,
			[]string{"3 values are invalid", "must be a number such as", "must be a date such as", `value="old"`,
				`value="1,5"`}},
		{"GET", "rent?age=1", "", "", 400, []string{"3 values are invalid", "missing in the request"}},
		{"GET", "rent?age=2&" + fine, "", "", 400, []string{"given twice"}},
		{"GET", "rent?colour=%3Cscript%3E&" + fine, "", "", 400, []string{"unknown input"}},
		{"GET", "rent?age=1e999&city=Oslo&sold=&size+m%C2%B2=NaN", "", "", 400, []string{"2 values are invalid"}},
		{"GET", "rent?age=1e300&city=Oslo&sold=&size+m%C2%B2=1e300", "", "", 200, []string{"exceeds the training maximum of",
			"Far outside the training range in age, size m²: the prediction is unreliable"}},
		{"GET", "rent?" + strings.Replace(fine, "age=1", "age=-5", 1), "", "", 200,
			[]string{"-5 is below the training minimum of"}},
		{"GET", "rent?" + strings.Replace(fine, "2004", "1850", 1), "", "", 200,
			[]string{"1850 is below the training minimum", "Far outside the training range in sold:"}},
		{"GET", "rent?age=1.7e308&city=Oslo&sold=&size+m%C2%B2=-1.7e308", "", "", 400, []string{"size m²: infinite value"}},
		{"GET", "rent?%zz", "", "", 400, []string{"cannot parse the form data"}},
		{"GET", "rent?a=1;b=2", "", "", 400, []string{"cannot parse the form data"}},
		{"GET", "rent?age=%ff%00&city=%ff&sold=%00&size+m%C2%B2=%e2%82", "", "", 400, nil},
		{"GET", "none", "", "", 404, []string{"unknown model"}},
		{"GET", "rent/7", "", "", 404, []string{"has no version"}},
		{"GET", "rent/", "", "", 200, nil},
		{"GET", "rent/1/2", "", "", 404, nil},
		{"GET", "../v1/models", "", "", 404, nil},
		{"GET", "%2e%2e%2fetc%2fpasswd", "", "", 404, nil},
		{"PUT", "rent", "", "", 405, nil},
		{"POST", "", fine, form, 405, nil},
		{"POST", "rent", fine, "text/plain", 415, nil},
		{"POST", "rent", big, form, 413, nil},
	} {
		r := ask(s, c.method, "/ui/"+c.path, c.body, "Content-Type", c.kind)
		if r.code != c.code {
			t.Errorf("%s %s: %d, want %d: %s", c.method, c.path, r.code, c.code, r.body)
			continue
		}
		harmless(t, r)
		for _, text := range c.message {
			if !strings.Contains(r.body, text) {
				t.Errorf("%s: no %q in %s", c.path, text, r.body)
			}
		}
	}
}

// Arbitrary input yields a valid page without injected markup.
func TestNothingSentIsMarkup(t *testing.T) {
	s := started(t, serve.Options{})
	rng := rand.New(rand.NewPCG(1, 2))
	parts := append([]string{"1", "", "\x00", "\xff", "é", "-1e9", "2001-02-30", "Paris", strings.Repeat("y", 300)},
		evil...)
	for range 300 {
		given := url.Values{}
		for _, name := range append([]string{"age", "city", "sold", "size m²"}, evil...) {
			if rng.IntN(5) > 0 || !strings.ContainsAny(name, "<'{") {
				given.Add(name, parts[rng.IntN(len(parts))]+parts[rng.IntN(len(parts))])
			}
		}
		name := []string{"rent", "three", "margin", "groups", "odd"}[rng.IntN(5)]
		r := ask(s, "GET", "/ui/"+name+"?"+given.Encode(), "")
		if r.code != 400 && r.code != 200 {
			t.Fatalf("%v: %d %s", given, r.code, r.body)
		}
		harmless(t, r)
	}
}

// Values for a replaced model are reported as unknown.
func TestReplacedModel(t *testing.T) {
	s := started(t, serve.Options{})
	given := changed(t, s, "rent")
	if err := s.AddModel("rent", "1", fitted()["odd"]); err != nil {
		t.Fatal(err)
	}
	r := ask(s, "GET", "/ui/rent?"+given.Encode(), "")
	harmless(t, r)
	if r.code != 400 || !strings.Contains(r.body, "unknown input") || !strings.Contains(r.body, "missing in the request") {
		t.Errorf("%d %s", r.code, r.body)
	}
	if err := s.AddModel("rent", "2", fitted()["rent"]); err != nil {
		t.Fatal(err)
	}
	r = ask(s, "GET", "/ui/rent?"+given.Encode(), "")
	if r.code != 200 || !strings.Contains(r.body, `<a href="./rent/1">1</a>`) ||
		!strings.Contains(r.body, `<span aria-current="page">2</span>`) {
		t.Errorf("two versions: %d %s", r.code, r.body)
	}
}

// With a token, pages require it as the password.
func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := started(t, serve.Options{TokenFile: file})
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	for _, c := range []struct {
		path, header string
		code         int
	}{
		{"/ui/", "", 401}, {"/ui/rent", basic("me:wrong"), 401}, {"/ui/rent", basic("sesame:"), 401},
		{"/ui/none", "Bearer wrong", 401},
		{"/ui/", basic("me:sesame"), 200}, {"/ui/rent", basic(":sesame"), 200}, {"/ui/rent", "Bearer sesame", 200},
		{"/v1/models", basic("me:sesame"), 401}, {"/v1/models", "Bearer sesame", 200},
	} {
		r := ask(s, "GET", c.path, "", "Authorization", c.header)
		if r.code != c.code {
			t.Errorf("%s with %q: %d, want %d", c.path, c.header, r.code, c.code)
		}
		asks := r.header.Get("WWW-Authenticate")
		if wants := strings.HasPrefix(c.path, "/ui/") && c.code == 401; wants != strings.HasPrefix(asks, "Basic ") {
			t.Errorf("%s: it asks for %q", c.path, asks)
		}
		if c.code == 401 && strings.Contains(r.body, "<form") {
			t.Errorf("%s shows a form", c.path)
		}
	}
}

// Limits apply to pages.
func TestLimits(t *testing.T) {
	s := started(t, serve.Options{Limits: serve.Limits{MaxRows: 2, MaxMemoryBytes: 1 << 10}})
	given := changed(t, s, "rent")
	if r := ask(s, "GET", "/ui/rent?"+given.Encode(), ""); r.code != 200 || !strings.Contains(r.body, "at most 2") {
		t.Errorf("effects beyond the limit of rows: %d %s", r.code, r.body)
	}
	if r := ask(s, "POST", "/ui/rent", given.Encode(), "Content-Type",
		"application/x-www-form-urlencoded"); r.code != 413 {
		t.Errorf("a form beyond the limit of memory: %d", r.code)
	}
	if r := ask(s, "GET", "/metrics", ""); !strings.Contains(r.body,
		`bochner_requests_total{model="rent",route="ui",code="200"} 2`) ||
		!strings.Contains(r.body, `bochner_rows_total{model="rent"} 1`) {
		t.Errorf("the metrics: %s", r.body)
	}
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if r := ask(s, "GET", "/ui/rent", ""); r.code != 503 {
		t.Errorf("behind the end: %d", r.code)
	}
}

// A model without imputation reports missing values as a user error.
func TestRefusingModel(t *testing.T) {
	s := started(t, serve.Options{})
	if err := s.AddModel("plain", "1", fit(wide(3), estimator.NewRidge(), nil, 1,
		transformer.NewStandardize())); err != nil {
		t.Fatal(err)
	}
	given := changed(t, s, "plain")
	given.Set("number 1 of many", "")
	r := sent(t, s, "plain", given)
	if harmless(t, r); r.code != 400 || !strings.Contains(r.body, "number 1 of many: ") {
		t.Errorf("a missing value: %d %s", r.code, r.body)
	}
}

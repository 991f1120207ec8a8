package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/pipeline/modelfile"
	"github.com/bochner-ml/bochner/serve"
)

// TestKindsFromRunToServer checks that numbers with a unit, lists of labels and names have the same predictions from a
// run, from its model file for rows of CSV and JSON lines, and from a server.
func TestKindsFromRunToServer(t *testing.T) {
	t.Chdir(t.TempDir())
	var rows strings.Builder
	rows.WriteString("ram,genres,title,y\n")
	for i := range 120 {
		ram := []string{"4 GB", "8GB", "", "16 GB"}[i%4]
		genres := []string{"Action|Comedy", "Comedy", "", "Drama | Action"}[i/4%4]
		title := fmt.Sprintf("%s %s %d", []string{"senior", "junior"}[i%2], []string{"engineer", "nurse", "clerk"}[i%3], i%7)
		fmt.Fprintf(&rows, "%s,%s,%s,%.3f\n", ram, genres, title, float64(i%4)+2*float64(i%2)+float64(i/4%4)-float64(i%3))
	}
	put(t, "rows.csv", rows.String())
	for name, steps := range map[string]string{
		"means":  "{select: title, steps: [target_encode]}, {select: genres, steps: [onehot]}",
		"hash":   "{select: title, steps: [hash]}, {select: genres, steps: [onehot]}",
		"onehot": "{select: categorical, steps: [onehot]}", "tfidf": "{select: [genres, title], steps: [tfidf]}",
		"both": "{select: categorical, steps: [onehot]}, " +
			"{select: title, steps: [{tfidf: {analyzer: char_wb, ngrams: [2, 3]}}], name: words}",
	} {
		put(t, "kinds.yaml", "name: kinds\ndata:\n  train: rows.csv\n  target: \"y\"\n  split: {test: 0.2}\n"+
			"  kinds: {ram: {number: GB}, genres: {labels: \"|\"}, title: name}\npipeline:\n  - columns:\n      groups:\n"+
			"        - {select: numeric, steps: [impute, standardize]}\n"+
			"        - "+strings.ReplaceAll(steps, "}, {select", "}\n        - {select")+"\n"+
			"  - kernel_ridge: {gamma: 0.1, alpha: 0.01}\noutput: {dir: "+name+"}\n")
		call(t, success, "run --quiet kinds.yaml")
		truth := readCSV(t, name+"/predictions.csv")
		all := readCSV(t, "rows.csv")
		var file, lines strings.Builder
		file.WriteString("ram,genres,title\n")
		var objects []string
		for _, p := range truth[1:] {
			i, err := strconv.Atoi(p[0])
			if err != nil {
				t.Fatal(err)
			}
			row := all[i+1]
			fmt.Fprintln(&file, strings.Join(row[:3], ","))
			object, err := json.Marshal(map[string]string{"ram": row[0], "genres": row[1], "title": row[2]})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&lines, string(object))
			objects = append(objects, string(object))
		}
		put(t, "new.csv", file.String())
		put(t, "new.jsonl", lines.String())
		for _, path := range []string{"new.csv", "new.jsonl"} {
			call(t, success, "predict "+name+"/model.bochner "+path+" -o out.csv")
			for i, p := range readCSV(t, "out.csv")[1:] {
				if want := truth[i+1][2]; p[1] != want {
					t.Fatalf("%s: prediction of row %d of %s = %s, want %s", name, i, path, p[1], want)
				}
			}
		}
		m, err := modelfile.Load(name + "/model.bochner")
		if err != nil {
			t.Fatal(err)
		}
		s, err := serve.New(serve.Options{})
		if err == nil {
			err = s.AddModel("kinds", "1", m)
		}
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.NewReplacer(`"4 GB"`, "4", `"8GB"`, "8.0", `"16 GB"`, "1.6e1",
			`"Action|Comedy"`, `["Action","Comedy"]`, `"Comedy"`, `["Comedy"]`, `"genres":""`, `"genres":[]`)
		rows := strings.Join(objects, ",")
		for _, rows := range []string{rows, plain.Replace(rows)} {
			r := httptest.NewRequest(http.MethodPost, "/v1/models/kinds:predict", strings.NewReader(`{"rows":[`+rows+`]}`))
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			var reply struct{ Predictions []struct{ Value float64 } }
			if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || len(reply.Predictions) != len(truth)-1 {
				t.Fatalf("%s: %v: %s", name, err, w.Body)
			}
			for i, p := range reply.Predictions {
				if got, want := strconv.FormatFloat(p.Value, 'g', -1, 64), truth[i+1][2]; got != want {
					t.Fatalf("%s: served prediction of row %d = %s, want %s", name, i, got, want)
				}
			}
		}
	}
}

// TestListsOfLabelsHaveNoCode checks that steps with one code per row refuse lists of labels before fitting.
func TestListsOfLabelsHaveNoCode(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", "genres,title,y\na|b,one,1\nb,two,2\nc,one,3\n")
	for _, step := range []string{"ordinal", "hash", "target_encode"} {
		put(t, "kinds.yaml", "data:\n  train: rows.csv\n  target: \"y\"\n  kinds: {genres: {labels: \"|\"}, title: name}\n"+
			"pipeline:\n  - columns:\n      groups:\n        - {select: [title, genres], steps: ["+step+"]}\n  - ridge\n")
		_, errs := call(t, failure, "validate kinds.yaml")
		has(t, errs, step+": column genres has lists of labels, and "+step+" takes one category of each row (encode it with "+
			"onehot, in a columns step)")
	}
}

// readCSV returns the records of a file.
func readCSV(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

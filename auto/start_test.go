package auto_test

import (
	"bytes"
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/auto"
	"github.com/bochner-ml/bochner/param"
)

// A search that starts from a leaderboard evaluates the candidates of that first, also on other rows and after the
// leaderboard was written and read.
func TestStart(t *testing.T) {
	earlier := fit(t, waves(300, 3, 1), counted(60))
	var file bytes.Buffer
	if err := earlier.Leaderboard.WriteCSV(&file); err != nil {
		t.Fatal(err)
	}
	read, err := auto.ReadLeaderboard(&file)
	if err != nil {
		t.Fatal(err)
	}
	best := earlier.Leaderboard[slices.IndexFunc(earlier.Leaderboard,
		func(e auto.Entry) bool { return e.Settings != nil })]
	rows := waves(310, 3, 1)
	var results []*auto.Result
	for _, start := range []auto.Leaderboard{earlier.Leaderboard, read} {
		o := counted(8)
		o.Start = start
		results = append(results, fit(t, rows, o))
		for i := range results[len(results)-1].Leaderboard {
			results[len(results)-1].Leaderboard[i].Seconds = 0
		}
	}
	if !reflect.DeepEqual(results[0].Leaderboard, results[1].Leaderboard) {
		t.Errorf("the file has other candidates: %v, %v", results[0].Leaderboard, results[1].Leaderboard)
	}
	if !slices.ContainsFunc(results[0].Leaderboard, func(e auto.Entry) bool {
		return e.Recipe == best.Recipe && e.Size == best.Size && e.Rows == 310 &&
			reflect.DeepEqual(e.Settings[len(e.Settings)-1], best.Settings[len(best.Settings)-1])
	}) {
		t.Errorf("%s %s is not evaluated: %v", best.Recipe, best.Parameters(), results[0].Leaderboard)
	}

	same := counted(8)
	same.Start = earlier.Leaderboard
	again := fit(t, waves(300, 3, 1), same)
	at := slices.IndexFunc(again.Leaderboard, func(e auto.Entry) bool {
		return e.Recipe == best.Recipe && reflect.DeepEqual(e.Settings, best.Settings)
	})
	if at < 0 || again.Leaderboard[at].Score != best.Score {
		t.Errorf("on the same rows %s %s is not evaluated again: %v", best.Recipe, best.Parameters(), again.Leaderboard)
	}
}

// What cannot be started from is an error.
func TestStartErrors(t *testing.T) {
	const head = "rank,recipe,parameters,score,std_error,rows,features,seconds,chosen,failed\n"
	for _, c := range []struct{ text, want string }{
		{"", "no column rank"},
		{"rank,recipe\n", "no column parameters"},
		{head + "1,zscores linear ridge,alpha,0.5,0.1,100,0,1,true,\n",
			"leaderboard: row 0: parameters: must be path=value"},
		{head + "1,zscores linear ridge,ridge.alpha=1,best,0.1,100,0,1,true,\n", `row 0: score: must be a float64, got "best"`},
	} {
		if _, err := auto.ReadLeaderboard(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.text, err)
		}
	}
	entry := func(recipe string, settings ...param.Setting) auto.Entry {
		return auto.Entry{Recipe: recipe, Settings: settings, Score: 0.5, Rows: 100}
	}
	for _, c := range []struct {
		start auto.Leaderboard
		want  string
	}{
		{auto.Leaderboard{}, "no candidate with a score"},
		{auto.Leaderboard{entry("zscores linear rigde")}, "did you mean zscores linear ridge?"},
		{auto.Leaderboard{entry("zscores linear logistic", param.Setting{Path: "logistic.C", Value: 1.0})},
			"none of the candidates"},
		{auto.Leaderboard{entry("zscores linear ridge")}, "must have a number alpha"},
		{auto.Leaderboard{entry("zscores linear ridge", param.Setting{Path: "ridge.alpha", Value: -1.0})},
			"alpha must be > 0"},
		{auto.Leaderboard{entry("zscores gaussian ridge", param.Setting{Path: "ridge.alpha", Value: 1.0})},
			"must have a number gamma"},
	} {
		o := counted(20)
		o.Start = c.start
		if _, err := auto.Fit(context.Background(), waves(60, 3, 1), o); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

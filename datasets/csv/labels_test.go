package csv_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/datasets"
	"github.com/bochner-ml/bochner/datasets/csv"
	"github.com/bochner-ml/bochner/datasets/jsonl"
	"github.com/bochner-ml/bochner/datasets/sourcetest"
)

const (
	columnRows = "x,red,round,name\n1,1,yes,a\n2,0,no,b\n3,1,no,c\n"
	listRows   = "x,tags,name\n1,round; red,a\n2,,b\n3,red;red;,c\n"
	jsonRows   = `{"x":1,"red":true,"round":1}
{"x":2,"red":false,"round":0}
{"x":3,"red":true,"round":0}
`
)

// Labels are columns of two values, or the sorted labels of a column of lists; an empty list has none.
func TestLabels(t *testing.T) {
	ctx := context.Background()
	several := datasets.Roles{Target: []string{"red", "round"}, Drop: []string{"name"}, Task: datasets.MultiLabel}
	lists := datasets.Roles{Target: []string{"tags"}, LabelDelimiter: ";", Drop: []string{"name"},
		Passthrough: []string{"name"}}
	path := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(path, []byte(listRows), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, hold := range []int64{0, 1 << 20} {
		src, err := csv.Options{Roles: lists, Hold: hold}.Open(ctx, path)
		if err != nil {
			t.Fatal(err)
		}
		sourcetest.Run(t, src)
		set, err := datasets.ReadAll(ctx, src)
		if err != nil || !slices.Equal(slices.Concat(set.Passthrough...), []string{"a", "b", "c"}) {
			t.Errorf("passthrough %q, %v", set.Passthrough, err)
		}
		checkLabels(t, set)
		for _, c := range []struct {
			row, want string
			unlabeled bool
		}{{"4,round;blue,d", `label must be one of the schema (red, round), got "blue"`, false},
			{"4,round;blue,d", "[NaN NaN]", true}, {"4,round,d", "[0 1]", false}} {
			roles := lists
			roles.Schema, roles.Unlabeled = &set.Schema, c.unlabeled
			more, err := csv.Options{Roles: roles, Hold: hold}.Read(ctx, strings.NewReader("x,tags,name\n"+c.row+"\n"))
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(more.Targets.RawRowView(0))
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s: %s, must be %s", c.row, got, c.want)
			}
		}
	}
	set, err := csv.Options{Roles: several}.Read(ctx, strings.NewReader(columnRows))
	if err != nil {
		t.Fatal(err)
	}
	checkLabels(t, set)
	several.Drop = nil
	if set, err = (jsonl.Options{Roles: several}).Read(ctx, strings.NewReader(jsonRows)); err != nil {
		t.Fatal(err)
	}
	checkLabels(t, set)
}

func checkLabels(t *testing.T, set datasets.Set) {
	t.Helper()
	if names := set.Schema.Labels(); !slices.Equal(names, []string{"red", "round"}) ||
		!slices.Equal(set.Targets.RawMatrix().Data, []float64{1, 1, 0, 0, 1, 0}) || set.Cols() != 1 || set.Y != nil {
		t.Errorf("labels %q %v, %d inputs", names, set.Targets, set.Cols())
	}
}

// Errors of labels name the file, the column and the requirement.
func TestLabelErrors(t *testing.T) {
	for _, c := range []struct {
		rows, want string
		roles      datasets.Roles
	}{
		{columnRows, "the task multilabel requires several columns", datasets.Roles{Target: []string{"red"},
			Task: datasets.MultiLabel}},
		{columnRows, `label "name" must have two values, such as 0 and 1, got 3: a, b, c`, datasets.Roles{
			Target: []string{"red", "name"}, Task: datasets.MultiLabel}},
		{listRows, "requires one column, got 2", datasets.Roles{Target: []string{"tags", "name"}, LabelDelimiter: ";"}},
		{listRows, "requires the task multilabel, got regression", datasets.Roles{Target: []string{"tags"},
			LabelDelimiter: ";", Task: datasets.Regression}},
		{listRows, `target: no column "labels"`, datasets.Roles{Target: []string{"labels"}, LabelDelimiter: ";"}},
		{"x,tags\n1,a\n2,a\n", `must have 2 to 16384 different labels, separated by ";", got 1`, datasets.Roles{
			Target: []string{"tags"}, LabelDelimiter: ";"}},
	} {
		_, err := csv.Options{Roles: c.roles}.Read(context.Background(), strings.NewReader(c.rows))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, must contain %q", err, c.want)
		}
	}
}

package experiment

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/bochner-ml/bochner/experiment/result"
	"github.com/bochner-ml/bochner/internal/codec/jsonfloat"
	"github.com/bochner-ml/bochner/internal/testing/exhaustive"
)

// TestDamagedResult checks that a damaged result.json gives an error or a page, whatever value is
// replaced by another.
func TestDamagedResult(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "rows.csv", measured(300))
	execute(t, spec(t, reported))
	put(t, "classes.csv", withClasses(300))
	execute(t, spec(t, "data: {train: classes.csv, target: y, split: {test: 0.3}}\npipeline: [standardize, "+
		"logistic]\noutput: {dir: two}\n"))
	for _, folder := range []string{"out", "two"} {
		var document any
		original := []byte(text(t, folder+"/result.json"))
		if err := json.Unmarshal(original, &document); err != nil {
			t.Fatal(err)
		}
		count := 0
		mutate(document, func(v any) { document = v }, func(what string) {
			if count++; count%5 > 0 && !exhaustive.Tests() {
				return
			}
			damaged, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			var r result.Result
			if jsonfloat.Unmarshal(damaged, &r) != nil || r.Check() != nil {
				return
			}
			if _, err := reportPage(r); err != nil {
				t.Errorf("%s: %s: %v", folder, what, err)
			}
		})
		if count < 500 {
			t.Errorf("%s: only %d damages", folder, count)
		}
	}
}

// mutate puts damaged values in the place of each value of a JSON document, one at a time, and calls
// try for each. Of lists it changes the first two and the last element, and drops one.
func mutate(v any, set func(any), try func(what string)) {
	for _, other := range []any{nil, []any{}, map[string]any{}, "", -1.0, 0.0, 1e300, 1e9, []any{nil}, true} {
		set(other)
		try(fmt.Sprintf("%.60v becomes %v", v, other))
	}
	set(v)
	switch v := v.(type) {
	case []any:
		for _, k := range []int{0, 1, len(v) - 1} {
			if k >= 0 && k < len(v) {
				mutate(v[k], func(other any) { v[k] = other }, try)
			}
		}
		if len(v) > 0 {
			set(v[:len(v)-1])
			try(fmt.Sprintf("%.60v without the last", v))
			set(append(slices.Clone(v), v[0]))
			try(fmt.Sprintf("%.60v with one more", v))
			set(v)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			mutate(v[key], func(other any) { v[key] = other }, func(what string) { try(key + ": " + what) })
		}
	}
}

func withClasses(n int) string {
	var b strings.Builder
	b.WriteString("a,b,y\n")
	for i := range n {
		x := math.Sin(float64(i * i))
		fmt.Fprintf(&b, "%.3f,%s,%s\n", x, []string{"1", "2", "4"}[i%3],
			map[bool]string{true: "yes", false: "no"}[x+math.Cos(float64(i)) > 0])
	}
	return b.String()
}

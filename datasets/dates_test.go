package datasets_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/bochner-ml/bochner/datasets"
)

func TestDate(t *testing.T) {
	for _, c := range []struct {
		order, text string
		want        []float64 // year, month, day, weekday, hour; nil for an invalid date
	}{
		{"", "2024-03-01", []float64{2024, 3, 1, 5, 0}},
		{"", "2024/3/1", []float64{2024, 3, 1, 5, 0}},
		{"", "2024-03-01T23:59:58.25Z", []float64{2024, 3, 1, 5, 23}},
		{"", "2024-03-01 07:05", []float64{2024, 3, 1, 5, 7}},
		{"", "2024-03-01 07:05:00+02:00", []float64{2024, 3, 1, 5, 5}},
		{"", "2024-03-01T01:05:00.5+0200", []float64{2024, 2, 29, 4, 23}},
		{"", "2024-03-01 07:05 -03", []float64{2024, 3, 1, 5, 10}},
		{"", "1900-01-01 00:00:00+00:53:28", []float64{1899, 12, 31, 7, 23}},
		{"", "2024-03-01 07:05+25:00", nil},
		{"", "2024-03-01 07:05 CET", nil},
		{"", "1.3.2024", []float64{2024, 3, 1, 5, 0}},
		{"", "01.03.24 8:00 PM", []float64{2024, 3, 1, 5, 20}},
		{"mdy", "1.3.2024", []float64{2024, 3, 1, 5, 0}}, // with periods the day is always first
		{"dmy", "2024-03-01", []float64{2024, 3, 1, 5, 0}},
		{"dmy", "1/3/2024", []float64{2024, 3, 1, 5, 0}},
		{"mdy", "3/1/2024", []float64{2024, 3, 1, 5, 0}},
		{"mdy", "3-3-69", []float64{1969, 3, 3, 1, 0}},
		{"mdy", "3/3/68", []float64{2068, 3, 3, 6, 0}},
		{"mdy", "12/31/2023 12:15 am", []float64{2023, 12, 31, 7, 0}},
		{"", "29.2.2024", []float64{2024, 2, 29, 4, 0}},
		{"", "29.2.2023", nil},
		{"", "1/3/2024", nil},
		{"dmy", "1/13/2024", nil},
		{"mdy", "13/1/2024", nil},
		{"", "2024-00-01", nil},
		{"", "2024-03-01T24:00", nil},
		{"", "2024-03-01 10:61", nil},
		{"", "2024-03-01 0:00 PM", nil},
		{"", "2024-03/01", nil},
		{"", "2024-03", nil},
		{"", "20240301", nil},
		{"", "2024-03-01x", nil},
		{"", "2024-03-01 10:00 hours", nil},
		{"", "12024-03-01", nil},
		{"", "1.3.024", nil},
		{"", "", nil},
		{"", "1.5", nil},
		{"", "10:30", nil},
	} {
		d := datasets.Date{Order: c.order}
		got, ok := d.Parse([]byte(c.text))
		if ok != (c.want != nil) || ok && !slices.Equal(d.Values(got), c.want) {
			t.Errorf("%s %q is %v %v, want %v", c.order, c.text, got, ok, c.want)
		}
	}
	quarter := time.Date(1970, 3, 3, 6, 0, 59, 0, time.UTC) // a Tuesday
	cyclic := datasets.Date{Parts: datasets.Date{}.AllParts()[5:]}.Values(quarter)
	week := 2 * math.Pi * 2 / 7
	for k, want := range []float64{1, 0, math.Sin(week), math.Cos(week), 1, 0, 61.25} {
		if math.Abs(cyclic[k]-want) > 1e-15 {
			t.Errorf("%s is %v, want %v", datasets.Date{}.AllParts()[5+k], cyclic[k], want)
		}
	}
	if got := (datasets.Date{Parts: []string{"hour", "day"}}).Names("when"); !slices.Equal(got,
		[]string{"when_hour", "when_day"}) {
		t.Errorf("the columns are %v", got)
	}
	for _, d := range []datasets.Date{{Order: "ymd"}, {Parts: []string{}}, {Parts: []string{"century"}},
		{Parts: []string{"day", "day"}}} {
		if d.Check() == nil {
			t.Errorf("%+v passes", d)
		}
	}
}

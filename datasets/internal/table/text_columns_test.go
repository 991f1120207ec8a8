package table

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
)

// sparseRecords are rows with a target in column 0 and the same number of other entries.
type sparseRecords struct{ rows, columns, entries int }

func (r sparseRecords) Form() Form {
	form := Form{Name: "f", Sparse: true}
	for j := range r.columns {
		form.Columns = append(form.Columns, Column{Name: "x" + strconv.Itoa(j)})
	}
	return form
}

func (r sparseRecords) Records(_ context.Context, yield func(*Record) error) error {
	for i := range r.rows {
		rec := Record{Line: i + 1}
		for j := range r.entries + 1 {
			rec.Columns, rec.Fields = append(rec.Columns, j), append(rec.Fields, []byte(strconv.Itoa(i)))
		}
		if err := yield(&rec); err != nil {
			return err
		}
	}
	return nil
}

// TestSparseBatches checks that batches of sparse rows depend on the number of entries, not on that of columns.
func TestSparseBatches(t *testing.T) {
	for _, c := range []struct {
		records sparseRecords
		want    int
	}{
		{sparseRecords{rows: 1000, columns: 3000, entries: 3}, 1000},
		{sparseRecords{rows: 1000, columns: 3000, entries: 2000}, 33},
	} {
		file := textFile{Reader: c.records, spare: newSpare()}
		requests := make([]ColumnRequest, c.records.columns)
		for j := range requests {
			requests[j] = ColumnRequest{Column: j, As: Numbers, Input: j > 0, collect: new(atomic.Bool)}
		}
		cursor, err := file.Read(context.Background(), requests)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := cursor.Next(chunk)
		if err != nil || rows != c.want {
			t.Errorf("%+v: %d rows, %v, want %d", c.records, rows, err, c.want)
		}
		for _, k := range []int{0, 2, c.records.columns - 1} {
			var v Values
			if err := cursor.Decode(k, &v); err != nil {
				t.Fatal(err)
			}
			entries := rows
			if k > c.records.entries {
				entries = 0
			}
			if k > 0 && len(v.Rows) != entries || entries > 0 && v.Numbers[(entries-1)*v.Step] != float64(rows-1) {
				t.Errorf("%+v: column %d has %d entries of %d", c.records, k, len(v.Rows), entries)
			}
		}
		cursor.Close()
	}
}

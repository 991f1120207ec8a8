package parquet

import (
	"io"
	"testing"

	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// Memory of long strings is bounded: batches have few rows, and their dictionary is replaced. String i
// of the file has 1 MiB and begins with the byte i.
func TestLongStrings(t *testing.T) {
	const rows, length = 120, 1 << 20
	f, err := open(steady.New(nil, "testdata/long.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Read(t.Context(), []table.ColumnRequest{{As: table.Strings}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := 0
	for {
		n, err := c.Next(1 << 15)
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		v := table.Values{Codes: make([]int32, n)}
		if err := c.Decode(0, &v); err != nil {
			t.Fatal(err)
		}
		for i, code := range v.Codes {
			if s := v.Dictionary.Strings[code]; len(s) != length || s[0] != byte(read+i) {
				t.Fatalf("row %d: %d bytes, the first %d", read+i, len(s), s[0])
			}
		}
		read += n
		if held := len(v.Dictionary.Strings) * length; n*length > maxBatchBytes || held > 80<<20 {
			t.Fatalf("%d rows at once, dictionary of %d bytes", n, held)
		}
	}
	if read != rows {
		t.Errorf("%d rows, want %d", read, rows)
	}
}

// Files of old writers, such as Impala, have converted types only.
func TestConvertedTypes(t *testing.T) {
	for _, c := range []struct {
		converted, physical int
		want                table.Type
		text                string // of the value 1
	}{
		{-1, int32s, table.Numbers, "1"}, {0, byteArrays, table.Strings, ""}, {5, int32s, table.Numbers, "0.1"},
		{6, int32s, table.Times, "1970-01-02"}, {7, int32s, table.Unsupported, ""}, {8, int64s, table.Unsupported, ""},
		{9, int64s, table.Times, "1970-01-01T00:00:00.001Z"}, {10, int64s, table.Times, "1970-01-01T00:00:00.000001Z"},
		{13, int32s, table.Numbers, "1"}, {18, int64s, table.Numbers, "1"}, {21, fixedArrays, table.Unsupported, ""},
	} {
		e, l := element{converted: c.converted, physical: c.physical, scale: 1, length: 12}, leaf{}
		if name := e.nestedName(); name != "" {
			t.Errorf("%+v: %s", c, name)
		}
		got, _ := l.describe(&e)
		text := ""
		if l.text != nil {
			text = string(l.text(nil, []byte{1, 0, 0, 0, 0, 0, 0, 0}[:l.width]))
		}
		if got != c.want || text != c.text {
			t.Errorf("%+v: type %d, %s", c, got, text)
		}
	}
	for converted, want := range map[int]string{1: "map", 2: "map", 3: "list", -1: "structure"} {
		if got := (&element{converted: converted, physical: -1, children: 1}).nestedName(); got != want {
			t.Errorf("converted type %d: %s, want %s", converted, got, want)
		}
	}
}

package parquet

import (
	"bytes"
	"io"
	"testing"
	"testing/fstest"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	pq "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// Memory of long strings is bounded: batches have few rows, and their dictionary is replaced.
func TestLongStrings(t *testing.T) {
	const rows, length = 120, 1 << 20
	text := schema.Must(schema.NewPrimitiveNodeConverted("s", parquet.Repetitions.Required, parquet.Types.ByteArray,
		schema.ConvertedTypes.UTF8, 0, 0, 0, -1))
	root := schema.MustGroup(schema.NewGroupNode("rows", parquet.Repetitions.Required, schema.FieldList{text}, -1))
	var out bytes.Buffer
	w := pq.NewParquetWriter(&out, root, pq.WithWriterProps(parquet.NewWriterProperties(
		parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryDefault(false), parquet.WithStats(false))))
	group, err := w.AppendRowGroupChecked()
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := group.NextColumn()
	if err != nil {
		t.Fatal(err)
	}
	written := bytes.Repeat([]byte("a"), length)
	for i := range rows {
		written[0] = byte(i)
		if _, err := chunk.(*pq.ByteArrayColumnChunkWriter).WriteBatch([]parquet.ByteArray{written}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	f, err := open(steady.New(fstest.MapFS{"x.parquet": {Data: out.Bytes()}}, "x.parquet"))
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

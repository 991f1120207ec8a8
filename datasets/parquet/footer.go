package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	pq "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"github.com/bochner-ml/bochner/datasets/internal/arrays"
	"github.com/bochner-ml/bochner/datasets/internal/steady"
	"github.com/bochner-ml/bochner/datasets/internal/table"
)

const magic = "PAR1"

// maxFooter bounds the bytes of the footer.
const maxFooter = 1 << 28

var errNotParquet = errors.New("not a file of Parquet: it does not end with PAR1")

// checkTail checks that the bytes end as a file of Parquet does.
func checkTail(b *steady.Bytes) error {
	if b.At == nil {
		return errors.New("must be a regular uncompressed file: it is read from its end; use the stream format of Arrow " +
			"for pipes")
	}
	var tail [8]byte
	if b.Size < 12 {
		return errNotParquet
	}
	if _, err := b.At.ReadAt(tail[:], b.Size-8); err != nil {
		return err
	}
	length := int64(binary.LittleEndian.Uint32(tail[:]))
	switch {
	case string(tail[4:]) == "PARE":
		return errors.New("it is encrypted")
	case string(tail[4:]) != magic:
		var head [4]byte
		if b.At.ReadAt(head[:], 0); string(head[:]) == magic {
			return errors.New("the file is cut off: it begins as Parquet does, and does not end so")
		}
		return errNotParquet
	case length > b.Size-12 || length > maxFooter:
		return fmt.Errorf("damaged: a footer of %d bytes in a file of %d", length, b.Size)
	}
	return nil
}

// readFooter reads the metadata of the file.
func readFooter(b *steady.Bytes) (m *metadata.FileMetaData, err error) {
	defer arrays.Recover(&err)
	if err := checkTail(b); err != nil {
		return nil, err
	}
	r, err := pq.NewParquetReader(io.NewSectionReader(b.At, 0, b.Size))
	if err != nil {
		return nil, fmt.Errorf("damaged: the footer: %w", err)
	}
	m = r.MetaData()
	return m, check(m, b.Size)
}

// check looks whether the footer goes together, and with the size of the file.
func check(m *metadata.FileMetaData, size int64) error {
	rows := int64(0)
	for k := range m.NumRowGroups() {
		g := m.RowGroup(k)
		n := g.NumRows()
		if n < 0 || n > math.MaxInt64/4-rows {
			return fmt.Errorf("damaged: row group %d declares %d rows", k, n)
		}
		if rows += n; g.NumColumns() != m.NumColumns() {
			return fmt.Errorf("damaged: row group %d has %d columns, the schema has %d", k, g.NumColumns(), m.NumColumns())
		}
		for j := range g.NumColumns() {
			if n == 0 {
				break // its position is unknown
			}
			if err := checkChunk(g, j, size); err != nil {
				return fmt.Errorf("row group %d: column %s: %w", k, m.Schema.Column(j).Path(), err)
			}
		}
	}
	if rows != m.NumRows {
		return fmt.Errorf("damaged: the footer declares %d rows, the row groups %d", m.NumRows, rows)
	}
	return nil
}

// checkChunk checks the metadata of a column in a row group.
func checkChunk(g *metadata.RowGroupMetaData, j int, size int64) error {
	c, err := g.ColumnChunk(j)
	if err != nil {
		return arrays.Damaged(err)
	}
	from := c.DataPageOffset()
	if at := c.DictionaryPageOffset(); c.HasDictionaryPage() && at > 0 && at < from {
		from = at
	}
	of := g.Schema.Column(j)
	switch n := c.TotalCompressedSize(); {
	case c.FilePath() != "":
		return errors.New("its values are in another file")
	case c.CryptoMetadata() != nil:
		return errors.New("it is encrypted")
	case from < 4 || n < 0 || from > size || n > size-from:
		return fmt.Errorf("damaged: its values are outside of the file, of %d bytes; it may be cut off", size)
	case c.Type() != of.PhysicalType():
		return errors.New("damaged: it is of another type than in the schema")
	case of.MaxRepetitionLevel() == 0 && c.NumValues() != g.NumRows():
		return fmt.Errorf("damaged: it has %d values, the group has %d rows", c.NumValues(), g.NumRows())
	}
	return nil
}

// columns lists the columns of the file, and the types of the arrays that they are read as.
func columns(s *schema.Schema) (typed []table.TypedColumn, leaves []leaf) {
	first := 0 // number of the column's first leaf
	root := s.Root()
	for k := range root.NumFields() {
		node := root.Field(k)
		c := table.TypedColumn{Name: node.Name(), TypeName: nestedName(node)}
		l := leaf{index: first}
		if first < s.NumColumns() && s.ColumnRoot(first) == node && c.TypeName == "" {
			l.as = arrowType(s.Column(first))
			c.Type, c.TypeName = arrays.TypeOf(l.as), arrays.NameOf(l.as)
			if l.uuid = isUUID(s.Column(first)); l.uuid {
				c.Type, c.TypeName = table.Strings, "uuid"
			}
		}
		for first < s.NumColumns() && s.ColumnRoot(first) == node {
			first++
		}
		typed, leaves = append(typed, c), append(leaves, l)
	}
	return typed, leaves
}

// leaf is a column of the schema as a column of rows.
type leaf struct {
	index int // among the columns that have values
	as    arrow.DataType
	uuid  bool
}

// nestedName names a column that has several values in a row; "" for others.
func nestedName(n schema.Node) string {
	switch n.LogicalType().(type) {
	case schema.ListLogicalType:
		return "list"
	case schema.MapLogicalType:
		return "map"
	}
	switch {
	case n.Type() == schema.Group:
		return "structure"
	case n.RepetitionType() == parquet.Repetitions.Repeated:
		return "repeated value"
	}
	return ""
}

func isUUID(c *schema.Column) bool {
	_, is := c.LogicalType().(schema.UUIDLogicalType)
	return is && c.PhysicalType() == parquet.Types.FixedLenByteArray && c.TypeLength() == 16
}

// arrowType is the type of the arrays that a column is read as.
func arrowType(c *schema.Column) arrow.DataType {
	physical := c.PhysicalType()
	whole := physical == parquet.Types.Int32 || physical == parquet.Types.Int64
	switch l := c.LogicalType().(type) {
	case schema.NullLogicalType:
		return arrow.Null
	case schema.DecimalLogicalType:
		switch physical {
		case parquet.Types.Int32:
			return &arrow.Decimal32Type{Precision: l.Precision(), Scale: l.Scale()}
		case parquet.Types.Int64:
			return &arrow.Decimal64Type{Precision: l.Precision(), Scale: l.Scale()}
		}
		return &arrow.Decimal256Type{Precision: l.Precision(), Scale: l.Scale()}
	case schema.DateLogicalType:
		return arrow.FixedWidthTypes.Date32
	case schema.TimeLogicalType:
		return arrow.FixedWidthTypes.Time64ns
	case schema.TimestampLogicalType:
		t := arrow.TimestampType{Unit: map[schema.TimeUnitType]arrow.TimeUnit{
			schema.TimeUnitMillis: arrow.Millisecond, schema.TimeUnitMicros: arrow.Microsecond,
			schema.TimeUnitNanos: arrow.Nanosecond}[l.TimeUnit()]}
		if l.IsAdjustedToUTC() {
			t.TimeZone = "UTC"
		}
		return &t
	case schema.Float16LogicalType:
		return arrow.FixedWidthTypes.Float16
	case schema.IntLogicalType:
		if whole && !l.IsSigned() {
			return map[parquet.Type]arrow.DataType{parquet.Types.Int32: arrow.PrimitiveTypes.Uint32,
				parquet.Types.Int64: arrow.PrimitiveTypes.Uint64}[physical]
		}
	}
	switch physical {
	case parquet.Types.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case parquet.Types.Int32:
		return arrow.PrimitiveTypes.Int32
	case parquet.Types.Int64:
		return arrow.PrimitiveTypes.Int64
	case parquet.Types.Int96:
		return arrow.FixedWidthTypes.Timestamp_us
	case parquet.Types.Float:
		return arrow.PrimitiveTypes.Float32
	case parquet.Types.Double:
		return arrow.PrimitiveTypes.Float64
	case parquet.Types.FixedLenByteArray:
		return &arrow.FixedSizeBinaryType{ByteWidth: c.TypeLength()}
	}
	return arrow.BinaryTypes.Binary
}

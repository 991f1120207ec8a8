package arrow

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// typeOf returns the column type of Arrow type t, or Unreadable if t is not supported.
func typeOf(t arrow.DataType) table.Type {
	switch t := storage(t).(type) {
	case *arrow.DictionaryType:
		return typeOf(t.ValueType)
	case *arrow.BooleanType:
		return table.Booleans
	case arrow.BinaryDataType, arrow.BinaryViewDataType:
		return table.Strings
	case *arrow.Date32Type, *arrow.Date64Type, *arrow.TimestampType:
		return table.Times
	case *arrow.NullType, arrow.DecimalType:
		return table.Numbers
	default:
		if arrow.IsInteger(t.ID()) || arrow.IsFloating(t.ID()) {
			return table.Numbers
		}
	}
	return table.Unsupported
}

// storage returns the storage type of an extension type, and other types unchanged.
func storage(t arrow.DataType) arrow.DataType {
	if e, ok := t.(arrow.ExtensionType); ok {
		return storage(e.StorageType())
	}
	return t
}

// names contains the type names in errors that differ from Arrow's.
var names = map[arrow.Type]string{
	arrow.STRING: "text", arrow.LARGE_STRING: "text", arrow.STRING_VIEW: "text", arrow.LARGE_BINARY: "binary",
	arrow.BINARY_VIEW: "binary",
	arrow.DECIMAL32:   "decimal", arrow.DECIMAL64: "decimal", arrow.DECIMAL256: "decimal", arrow.DATE32: "date",
	arrow.DATE64: "date",
	arrow.TIME32: "time of day", arrow.TIME64: "time of day", arrow.FIXED_SIZE_BINARY: "fixed-size binary",
	arrow.STRUCT:       "structure",
	arrow.SPARSE_UNION: "union", arrow.DENSE_UNION: "union", arrow.LARGE_LIST: "list", arrow.LIST_VIEW: "list",
	arrow.LARGE_LIST_VIEW: "list",
	arrow.FIXED_SIZE_LIST: "fixed-size list", arrow.RUN_END_ENCODED: "run-end encoded",
}

// nameOf names a type in errors.
func nameOf(t arrow.DataType) string {
	t = storage(t)
	if d, ok := t.(*arrow.DictionaryType); ok {
		t = d.ValueType
	}
	if name := names[t.ID()]; name != "" {
		return name
	}
	return t.Name()
}

// columnPath is where the values of a column of rows are: in a column of the schema, or at one
// place of its lists of one size.
type columnPath struct {
	Column  int
	Element int
	Size    int // of the lists; 0 for none
}

// maxElements bounds the columns that a list of one size becomes.
const maxElements = 1 << 16

// columnsOf lists the columns of a schema. A fixed-size list v of numbers is the columns v_0, v_1, …
func columnsOf(s *arrow.Schema) (typed []table.TypedColumn, places []columnPath) {
	for k, f := range s.Fields() {
		if l, ok := storage(f.Type).(*arrow.FixedSizeListType); ok && l.Len() > 0 && l.Len() <= maxElements {
			of := storage(l.Elem())
			if t := typeOf(of); (t == table.Numbers || t == table.Booleans) && of.ID() != arrow.DICTIONARY &&
				of.ID() != arrow.NULL {
				for i := range int(l.Len()) {
					typed = append(typed, table.TypedColumn{Name: f.Name + "_" + strconv.Itoa(i), Type: t, TypeName: nameOf(l)})
					places = append(places, columnPath{k, i, int(l.Len())})
				}
				continue
			}
		}
		typed = append(typed, table.TypedColumn{Name: f.Name, Type: typeOf(f.Type), TypeName: nameOf(f.Type)})
		places = append(places, columnPath{Column: k})
	}
	return typed, places
}

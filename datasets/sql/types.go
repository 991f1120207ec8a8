package sql

import (
	"strings"

	"github.com/bochner-ml/bochner/datasets/internal/table"
)

// types maps the type names of databases to column types.
var types = func() map[string]table.Type {
	out := map[string]table.Type{}
	for t, names := range map[table.Type]string{
		table.Numbers: "INT INT2 INT4 INT8 INTEGER TINYINT SMALLINT MEDIUMINT BIGINT HUGEINT UTINYINT USMALLINT UINTEGER " +
			"UBIGINT SERIAL BIGSERIAL OID " +
			"UNSIGNED_TINYINT UNSIGNED_SMALLINT UNSIGNED_MEDIUMINT UNSIGNED_INT UNSIGNED_BIGINT YEAR " +
			"FLOAT FLOAT4 FLOAT8 REAL DOUBLE DOUBLE_PRECISION NUMERIC DECIMAL NUMBER FIXED",
		table.Booleans: "BOOL BOOLEAN",
		table.Strings: "TEXT TINYTEXT MEDIUMTEXT LONGTEXT CLOB NCLOB STRING CHAR CHARACTER BPCHAR VARCHAR VARCHAR2 NCHAR " +
			"NVARCHAR NVARCHAR2 NTEXT CHARACTER_VARYING VARYING_CHARACTER NATIVE_CHARACTER " +
			"NAME CITEXT UUID UNIQUEIDENTIFIER ENUM INET CIDR MACADDR MONEY TIME TIMETZ",
		table.Times: "DATE DATETIME DATETIME2 SMALLDATETIME DATETIMEOFFSET TIMESTAMP TIMESTAMPTZ " +
			"TIMESTAMP_WITH_TIME_ZONE TIMESTAMP_WITHOUT_TIME_ZONE",
		table.Unsupported: "BLOB TINYBLOB MEDIUMBLOB LONGBLOB BYTEA BINARY VARBINARY RAW JSON JSONB XML INTERVAL POINT " +
			"LINE BOX PATH POLYGON CIRCLE GEOMETRY TSVECTOR HSTORE BIT VARBIT",
	} {
		for _, name := range strings.Fields(names) {
			out[name] = t
		}
	}
	return out
}()

// typeOf returns the type for a name that the database declares, false if it is unknown.
func typeOf(name string) (table.Type, bool) {
	name, _, _ = strings.Cut(strings.ToUpper(name), "(")
	name = strings.Join(strings.Fields(name), "_")
	if strings.HasPrefix(name, "_") || strings.HasSuffix(name, "[]") { // arrays of PostgreSQL
		return table.Unsupported, true
	}
	t, ok := types[name]
	return t, ok
}

"""Writes the files of this folder, and the same rows as CSV: pyarrow 26.0, polars 2.1, duckdb 2.0, pandas and fastparquet's
encodings by pyarrow's options; seed 1."""
import datetime
import decimal

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq

n = 300
rng = np.random.default_rng(1)


def some(values, share=0.1):
    """Values of which some are missing."""
    return [None if rng.uniform() < share else v for v in values]


words = ["Zürich", "Bern", "東京", "New York", "a, b", 'with "quotes"']
day = datetime.date(1960, 1, 1)
moment = datetime.datetime(1969, 12, 30)
cents = [decimal.Decimal(int(v)).scaleb(-2) for v in rng.integers(-(10**6), 10**6, n)]
rows = pa.table({
    "double": pa.array(some(rng.normal(size=n)), pa.float64()),
    "single": pa.array(rng.normal(size=n).astype(np.float32), pa.float32()),
    "half": pa.array(some(rng.normal(size=n).astype(np.float16)), pa.float16()),
    "int8": pa.array(rng.integers(-128, 128, n), pa.int8()),
    "uint16": pa.array(some(rng.integers(0, 2**16, n)), pa.uint16()),
    "int32": pa.array(rng.integers(-(2**31), 2**31, n), pa.int32()),
    "uint32": pa.array(rng.integers(0, 2**32, n), pa.uint32()),
    "int64": pa.array(rng.integers(-(2**62), 2**62, n), pa.int64()),
    "uint64": pa.array(2**63 + np.arange(n, dtype=np.uint64) // 7, pa.uint64()),
    "cents": pa.array(some(cents), pa.decimal128(9, 2)),
    "money": pa.array(cents, pa.decimal128(30, 2)),
    "truth": pa.array(some(rng.integers(0, 2, n).astype(bool)), pa.bool_()),
    "word": pa.array(some(np.array(words)[rng.integers(0, 6, n)])),
    "coded": pa.array(some(np.array(words)[rng.integers(0, 4, n)])).dictionary_encode(),
    "unique": pa.array([f"number {k * 7919 % n}" for k in range(n)]),
    "sold": pa.array(some([day + datetime.timedelta(int(k)) for k in rng.integers(0, 30000, n)]), pa.date32()),
    "seen": pa.array(some([moment + datetime.timedelta(microseconds=int(k)) for k in rng.integers(0, 10**15, n)]), pa.timestamp("us")),
    "zoned": pa.array([moment + datetime.timedelta(milliseconds=int(k)) for k in rng.integers(0, 10**12, n)], pa.timestamp("ms", "Europe/Zurich")),
    "nothing": pa.nulls(n),
    "weight": pa.array(rng.uniform(0, 3, n)),
    "income": pa.array(np.array(["<=50K", ">50K"])[rng.integers(0, 2, n)]),
})


def written(v):
    """A value as it stands in the CSV."""
    if v is None:
        return ""
    if isinstance(v, bool):
        return str(int(v))
    if isinstance(v, (float, np.floating)):
        return repr(float(v))
    if isinstance(v, datetime.datetime):
        return v.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if v.tzinfo else v.isoformat()
    text = str(v)
    return '"' + text.replace('"', '""') + '"' if "," in text or '"' in text else text


with open("rows.csv", "w") as f:
    print(",".join(rows.column_names), file=f)
    for r in rows.to_pylist():
        print(",".join(written(v) for v in r.values()), file=f)

pq.write_table(rows, "plain.parquet", use_dictionary=False, compression="none", row_group_size=128, data_page_size=512)
pq.write_table(rows, "snappy.parquet", row_group_size=70)
pq.write_table(rows, "zstd.parquet", compression="zstd", data_page_version="2.0", row_group_size=100, data_page_size=256, write_page_checksum=True)
pq.write_table(rows, "lz4.parquet", compression="lz4", dictionary_pagesize_limit=100, data_page_size=200)
pq.write_table(rows, "gzip.parquet", compression="gzip", use_dictionary=False, data_page_version="2.0", column_encoding={
    "double": "BYTE_STREAM_SPLIT", "single": "BYTE_STREAM_SPLIT", "half": "BYTE_STREAM_SPLIT", "int8": "DELTA_BINARY_PACKED", "uint16": "DELTA_BINARY_PACKED",
    "int32": "DELTA_BINARY_PACKED", "uint32": "BYTE_STREAM_SPLIT", "int64": "DELTA_BINARY_PACKED", "uint64": "DELTA_BINARY_PACKED", "money": "BYTE_STREAM_SPLIT",
    "truth": "RLE", "word": "DELTA_LENGTH_BYTE_ARRAY", "unique": "DELTA_BYTE_ARRAY", "seen": "DELTA_BINARY_PACKED"})
pq.write_table(rows.drop(["zoned"]), "int96.parquet", use_deprecated_int96_timestamps=True)
frame = polars.from_arrow(rows.drop(["nothing", "half"]))
frame.write_parquet("polars.parquet", row_group_size=90)
shown = rows.drop(["nothing", "half", "zoned"])
duckdb.sql("COPY shown TO 'duckdb.parquet' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)")
rows.drop(["half"]).to_pandas().to_parquet("pandas.parquet")
pq.write_table(pa.table({
    "x": [1.0, 2.0], "list": [[1], [2, 3]], "structure": [{"a": 1}, {"a": 2}], "clock": pa.array([1, 2], pa.time32("s")),
    "raw": pa.array([b"ab", b"cd"], pa.binary(2)), "y": [1, 2]}), "nested.parquet")
pq.write_table(rows.slice(0, 0), "empty.parquet")
pq.write_table(rows.select(["double"]), "brotli.parquet", compression="brotli")
pq.write_table(pa.table({"s": [bytes([i]).decode("latin1") + "a" * (2**20 - 1) for i in range(120)]}), "long.parquet", compression="zstd", use_dictionary=False,
               write_statistics=False)

"""Writes the files of this folder: the rows of ../../parquet/testdata/rows.csv, read from its plain.parquet, in Arrow's formats,
by pyarrow 26.0, polars 2.1 and pandas 3.0."""
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet as pq

rows = pq.read_table("../../parquet/testdata/plain.parquet")


def write(name, table, rows_per_batch=None, stream=False, **options):
    opened = pa.ipc.new_stream if stream else pa.ipc.new_file
    with opened(name, table.schema, options=pa.ipc.IpcWriteOptions(unify_dictionaries=not stream, **options)) as out:
        out.write_table(table, max_chunksize=rows_per_batch)


def cast(table, name, to):
    at = table.schema.get_field_index(name)
    return table.set_column(at, name, table[name].cast(to))


write("file.arrow", rows, 100)
write("stream.arrows", rows, 77, stream=True)
write("zstd.arrow", rows, 64, compression="zstd")
write("lz4.arrows", rows, stream=True, compression="lz4")

# Dictionaries that grow and that are replaced, of the batches of a stream; other widths of everything.
wide = rows
for name, to in {"word": pa.large_string(), "unique": pa.string_view(), "cents": pa.decimal256(40, 2), "sold": pa.date64(), "coded": pa.dictionary(pa.int8(), pa.string())}.items():
    wide = cast(wide, name, to)
parts = []
for k in range(0, 300, 50):
    batch = wide.slice(k, 50).combine_chunks()
    at = batch.schema.get_field_index("coded")
    parts.append(batch.set_column(at, "coded", [pa.chunked_array([batch["coded"].cast(pa.string()).combine_chunks().dictionary_encode()]).cast(pa.dictionary(pa.int8(), pa.string()))]))
seen = []
grown = []
for part in parts:
    for text in part["unique"].to_pylist():
        if text not in seen:
            seen.append(text)
    codes = pa.array([seen.index(text) for text in part["unique"].to_pylist()], pa.int16())
    at = part.schema.get_field_index("unique")
    grown.append(part.set_column(at, "unique", pa.DictionaryArray.from_arrays(codes, pa.array(seen))))
for name, tables, deltas in ("replaced.arrows", parts, False), ("deltas.arrows", grown, True):
    with pa.ipc.new_stream(name, tables[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)) as out:
        for part in tables:
            out.write_table(part)

frame = polars.from_arrow(rows.drop(["nothing", "half"]))
frame.write_ipc("polars.arrow", compression="lz4")
frame.write_ipc_stream("polars.arrows")
rows.drop(["half"]).to_pandas().to_feather("pandas.feather")

rng = np.random.default_rng(2)
v = rng.normal(size=(20, 3)).astype(np.float32)
lists = pa.FixedSizeListArray.from_arrays(pa.array(v.ravel()), 3)
b = pa.FixedSizeListArray.from_arrays(pa.array([None if k % 7 == 0 else bool(k % 2) for k in range(40)]), 2)
other = pa.table({"v": lists, "list": [[1]] * 20, "map": pa.array([[("a", 1)]] * 20, pa.map_(pa.string(), pa.int64())), "structure": [{"a": 1, "b": "c"}] * 20,
                  "union": pa.UnionArray.from_sparse(pa.array([0] * 20, pa.int8()), [pa.array(range(20)), pa.array(["x"] * 20)]),
                  "dense": pa.UnionArray.from_dense(pa.array([0] * 20, pa.int8()), pa.array(range(20), pa.int32()), [pa.array(range(20))]),
                  "runs": pa.RunEndEncodedArray.from_arrays(pa.array([20], pa.int32()), pa.array([1.5])), "clock": pa.array([1] * 20, pa.time64("us")),
                  "span": pa.array([1] * 20, pa.duration("s")), "fixed": pa.array([b"ab"] * 20, pa.binary(2)), "b": b, "y": list(range(20))})
write("nested.arrow", other, 9)
write("empty.arrows", rows.slice(0, 0), stream=True)

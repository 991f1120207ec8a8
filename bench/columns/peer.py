import json, os, resource, sys, time

what, path = sys.argv[1:3]


def write(folder, rows):
    """Writes the rows in every format."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.ipc
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    words = np.array([f"category {k}" for k in range(200)])
    columns = {f"x{j}": rng.normal(size=rows) for j in range(10)}
    columns |= {f"f{j}": rng.normal(size=rows).astype(np.float32) for j in range(4)}
    columns |= {f"i{j}": rng.integers(0, 1000, rows) for j in range(3)}
    columns["c1"] = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 200, rows).astype(np.int32)), pa.array(words))
    columns["c2"] = pa.array(words[rng.integers(0, 20, rows)])
    columns["y"] = rng.normal(size=rows)
    table = pa.table(columns)
    pq.write_table(table, folder + "/snappy.parquet")
    pq.write_table(table, folder + "/zstd.parquet", compression="zstd")
    with pa.ipc.new_file(folder + "/plain.arrow", table.schema) as f:
        f.write_table(table, max_chunksize=65536)
    pyarrow.csv.write_csv(table, folder + "/rows.csv")


if what == "write":
    write(path, int(sys.argv[3]))
    sys.exit()
if what == "polars":
    import polars as peer
else:
    import pyarrow as peer
    import pyarrow.csv
    import pyarrow.ipc
    import pyarrow.parquet as pq
began, used = time.perf_counter(), time.process_time()
rows = 0
if what == "polars":
    read = {".csv": peer.read_csv, ".arrow": peer.read_ipc}.get(os.path.splitext(path)[1], peer.read_parquet)
    rows = len(read(path))
elif path.endswith(".parquet"):
    for batch in pq.ParquetFile(path).iter_batches(batch_size=1 << 15):
        rows += batch.num_rows
elif path.endswith(".arrow"):
    with peer.ipc.open_file(path) as file:
        for k in range(file.num_record_batches):
            rows += file.get_batch(k).num_rows
else:
    for batch in pyarrow.csv.open_csv(path):
        rows += batch.num_rows
print(json.dumps({"side": f"{what} {peer.__version__}", "rows": rows, "cpu_seconds": time.process_time() - used, "clock_seconds": time.perf_counter() - began,
                  "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))

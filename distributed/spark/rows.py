"""Writes rows for check.sh to a folder: numbers, a category and a target, as CSV, and in parts as Parquet and Arrow."""

import math
import os
import random
import sys

rng = random.Random(1)
names = ["a", "b", "colour", "y"]
rows = []
for _ in range(70000):
    a, b, colour = rng.gauss(0, 1), rng.gauss(0, 1), rng.choice(["red", "green", "blue"])
    rows.append((round(a, 6), round(b, 6), colour, round(math.sin(a * b) + (colour == "red") + 0.1 * rng.gauss(0, 1), 6)))
with open(os.path.join(sys.argv[1], "rows.csv"), "w", encoding="utf-8") as file:
    file.write(",".join(names) + "\n")
    file.writelines("%r,%r,%s,%r\n" % row for row in rows)

import pyarrow
import pyarrow.parquet

columns = [pyarrow.array(list(column)) for column in zip(*rows)]
folder, streams = os.path.join(sys.argv[1], "rows.parquet"), os.path.join(sys.argv[1], "rows.arrow")
os.makedirs(folder, exist_ok=True)
os.makedirs(streams, exist_ok=True)
table = pyarrow.table(columns, names=names)
for k in range(4):
    part = table.slice(13500 * k + 1000 * k * k, 13500 + 1000 * (2 * k + 1))
    pyarrow.parquet.write_table(part, os.path.join(folder, "part-%d.parquet" % k))
    with pyarrow.OSFile(os.path.join(streams, "part-%d.arrow" % k), "wb") as file:
        with pyarrow.ipc.new_stream(file, part.schema) as stream:
            stream.write_table(part)

"""Writes the rows that ways.py fits to a folder, as Parquet: kddcup99 in 8 files, and rows of normal numbers in 8 and 10.

    python distributed/ways/rows.py FOLDER [kddcup.data_10_percent.gz]

It needs numpy and pyarrow.
"""

import gzip
import os
import sys

import numpy
import pyarrow
import pyarrow.csv
import pyarrow.parquet

KDD = (
    "duration protocol_type service flag src_bytes dst_bytes land wrong_fragment urgent hot num_failed_logins logged_in num_compromised "
    "root_shell su_attempted num_root num_file_creations num_shells num_access_files num_outbound_cmds is_host_login is_guest_login count "
    "srv_count serror_rate srv_serror_rate rerror_rate srv_rerror_rate same_srv_rate diff_srv_rate srv_diff_host_rate dst_host_count "
    "dst_host_srv_count dst_host_same_srv_rate dst_host_diff_srv_rate dst_host_same_src_port_rate dst_host_srv_diff_host_rate "
    "dst_host_serror_rate dst_host_srv_serror_rate dst_host_rerror_rate dst_host_srv_rerror_rate label"
).split()


def made(seed, rows, inputs=20):
    """Normal numbers, a number that five of them make, and its sign as a string."""
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal((rows, inputs))
    y = numpy.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * (x[:, 3] ** 2 - x[:, 4] ** 2) + 0.3 * rng.standard_normal(rows)
    columns = {"x%d" % j: x[:, j] for j in range(inputs)}
    side = pyarrow.array(numpy.where(y > 0, "above", "below")).dictionary_encode()
    return pyarrow.table({**columns, "y": y, "side": side})


def write(folder, k, table):
    os.makedirs(folder, exist_ok=True)
    pyarrow.parquet.write_table(table, os.path.join(folder, "part-%02d.parquet" % k), row_group_size=131072)


folder = sys.argv[1]
for k in range(8):
    write(os.path.join(folder, "million"), k, made(1000 + k, 131072))
for k in range(10):
    write(os.path.join(folder, "made"), k, made(k, 1000000))
if len(sys.argv) > 2:
    with gzip.open(sys.argv[2]) as file:
        table = pyarrow.csv.read_csv(file, read_options=pyarrow.csv.ReadOptions(column_names=KDD))
    size = -(-table.num_rows // 8)
    for k in range(8):
        write(os.path.join(folder, "kdd"), k, table.slice(k * size, size))

"""Reads the CSV file named with pandas and prints a JSON line about it."""
import json, resource, sys, time
import pandas
start = time.perf_counter()
table = pandas.read_csv(sys.argv[1])
seconds = time.perf_counter() - start
assert table.shape[1] == 55 and (table.dtypes == "float64").all(), table.dtypes
print(json.dumps({"peer": "pandas " + pandas.__version__, "work": "csv", "dtype": "float64", "seconds": seconds,
                  "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))

"""Writes the arrays of this folder, and the same rows as CSV: numpy 2.4, seed 1."""
import numpy as np

n = 200
rng = np.random.default_rng(1)
rows = np.zeros(n, dtype=[("big", ">f8"), ("single", "<f4"), ("half", "<f2"), ("count", "<i8"), ("small", "|i1"),
                          ("unsigned", ">u4"), ("truth", "|b1"), ("city", "<U8"), ("letter", "|S1"), ("sold", "<M8[D]"),
                          ("seen", "<M8[ms]"), ("id", "<u8"), ("weight", "<f8"), ("income", "<U5")])
rows["big"] = rng.normal(size=n)
rows["big"][3] = np.nan
rows["single"], rows["half"] = rng.normal(size=n), rng.normal(size=n)
rows["count"] = rng.integers(-(2**40), 2**40, n)
rows["small"], rows["unsigned"] = rng.integers(-128, 128, n), rng.integers(0, 2**32, n)
rows["truth"] = rng.integers(0, 2, n)
rows["city"] = np.array(["Zürich", "Bern", "東京", "", "NaN"])[rng.integers(0, 5, n)]
rows["letter"] = np.array(["a", "b", "c"])[rng.integers(0, 3, n)]
rows["sold"] = np.datetime64("1960-01-01") + rng.integers(0, 30000, n)
rows["sold"][5] = "NaT"
rows["seen"] = np.datetime64("1969-12-30T00:00:00.000") + rng.integers(0, 10**12, n)
rows["id"] = 2**63 + np.arange(n, dtype=np.uint64) // 4
rows["weight"] = rng.uniform(0, 3, n)
rows["income"] = np.array(["<=50K", ">50K"])[rng.integers(0, 2, n)]
np.save("rows.npy", rows)
with open("rows.csv", "w") as f:
    print(",".join(rows.dtype.names), file=f)
    for r in rows:
        out = []
        for name, v in zip(rows.dtype.names, r):
            if name == "truth":
                v = int(v)
            elif name == "letter":
                v = v.decode()
            elif isinstance(v, np.floating):
                v = repr(float(v))
            out.append("" if str(v) in ("nan", "NaT") else str(v))
        print(",".join(out), file=f)

X, y = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
np.savez("stored.npz", y=y, X=X, w=rng.uniform(size=50), names=np.array(["a", "b", "c"]))
np.savez_compressed("packed.npz", y=y, X=np.asfortranarray(X), Z=X[:, :2].astype(np.float32))
np.save("fortran.npy", np.asfortranarray(X))
np.save("plain.npy", X)
np.save("one.npy", X[:, 0].astype(">f4"))
with open("version3.npy", "wb") as f:
    np.lib.format.write_array(f, X, version=(3, 0))
np.save("objects.npy", np.array([{"a": 1}, None], dtype=object))
np.save("complex.npy", X.astype(np.complex128))

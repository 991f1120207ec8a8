"""Makes quantile.json: what scikit-learn's QuantileTransformer learns and makes of rows.

    python3 quantile.py > quantile.json

Written with scikit-learn 1.9.1, numpy 2.4.6, scipy 1.17.1.
"""
import json
import sys
import warnings

import numpy as np
import scipy
import sklearn
from sklearn.preprocessing import QuantileTransformer

warnings.filterwarnings("ignore")
rng = np.random.default_rng(12)


def columns(n):
    """Continuous, integers with many ties, two values, constant, mostly zero, heavy-tailed, missing values."""
    x = np.column_stack([
        rng.normal(size=n).round(3),
        rng.integers(0, 12, size=n),
        rng.integers(0, 2, size=n) * 1.0,
        np.full(n, 2.5),
        np.where(rng.random(n) < 0.7, 0, rng.exponential(size=n)).round(4),
        (rng.standard_cauchy(size=n) * 1e3).round(1),
        rng.normal(size=n).round(2),
    ])
    x[rng.random(n) < 0.2, 6] = np.nan
    return x


def plain(a):
    return [[None if v != v else v for v in row] for row in np.asarray(a).tolist()]


cases = []
for n, quantiles, output in [(40, 1000, "uniform"), (40, 1000, "normal"), (300, 37, "uniform"), (300, 37, "normal"),
                             (300, 2, "uniform"), (311, 300, "uniform"), (311, 1000, "normal"), (1, 5, "uniform")]:
    x = columns(n)
    new = columns(30)
    new[0], new[1] = 1e6, -1e6
    rows = np.vstack([x[:30], new])
    if n == 1:
        x[0, 6], rows = 1.5, x.copy()
    t = QuantileTransformer(n_quantiles=quantiles, output_distribution=output, subsample=None).fit(x)
    cases.append({"quantiles": quantiles, "output": output, "train": plain(x), "learned": plain(t.quantiles_.T),
                  "rows": plain(rows), "mapped": plain(t.transform(rows))})

json.dump({"made_with": {"sklearn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__}, "cases": cases},
          sys.stdout, separators=(",", ":"))
print()

"""Writes scales.json: least losses and predictions of linear models without a penalty, by scipy and scikit-learn.

    python scales.py > scales.json

The columns have similar scales here; tests multiply them by factors, which change neither.
"""
import json
import sys

import numpy as np
import scipy.optimize as so
import scipy.sparse as sp
import sklearn
from sklearn.linear_model import GammaRegressor, HuberRegressor, PoissonRegressor, TweedieRegressor

rng = np.random.default_rng(7)
n = 80
X = np.column_stack([rng.lognormal(0, .5, n), rng.normal(2, 1, n), rng.uniform(2, 8, n), rng.normal(0, 1, n)]).round(4)
f = X @ [1, .7, -.2, .5]
number = (f + rng.standard_t(3, n) * .3).round(4)
count = rng.poisson(np.exp(.4 * f)).astype(float)
positive = (rng.gamma(2, np.exp(.4 * f) / 2) + .01).round(4)


def quantile(q):
    A = np.hstack([X, np.ones((n, 1))])
    cost = np.concatenate([np.zeros(5), np.full(n, q / n), np.full(n, (1 - q) / n)])
    bounds = [(None, None)] * 5 + [(0, None)] * (2 * n)
    return so.linprog(cost, A_eq=sp.hstack([A, sp.eye(n), -sp.eye(n)]), b_eq=number, bounds=bounds, method="highs").fun


out = {"program": "scikit-learn " + sklearn.__version__, "X": X.tolist(), "number": number.tolist(),
       "count": count.tolist(), "positive": positive.tolist(),
       "quantiles": [.1, .5, .8], "pinball": [quantile(q) for q in (.1, .5, .8)]}
glm = {"alpha": 0, "solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
for name, model, y in [("poisson", PoissonRegressor(**glm), count), ("gamma", GammaRegressor(**glm), positive),
                       ("tweedie", TweedieRegressor(power=1.5, **glm), count),
                       ("huber", HuberRegressor(alpha=0, tol=1e-10, max_iter=10000), number)]:
    out[name] = model.fit(X, y).predict(X).tolist()
json.dump(out, sys.stdout)

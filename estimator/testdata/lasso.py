"""Writes lasso.json: coefficients of linear models with an L1 penalty, by scikit-learn.

    python lasso.py > lasso.json
"""
import json
import sys
import warnings

import numpy as np
import sklearn
from sklearn.linear_model import ElasticNet, LogisticRegression

rng = np.random.default_rng(3)
n, p = 70, 9
X = (rng.normal(0, 1, (n, p)) * np.linspace(.5, 2, p) + rng.normal(0, .7, (n, 1)) + np.arange(p) % 3).round(3)
number = (X @ [1, 0, -1, 0, .5, 0, 0, .2, 0] + rng.normal(0, .5, n) + 2).round(3)
classes = np.argmax(np.c_[number - number.mean(), X[:, 1] - X[:, 3], np.zeros(n)] + rng.gumbel(0, 1, (n, 3)), axis=1)
weights = rng.uniform(.1, 2, n).round(2)
out = {"program": "scikit-learn " + sklearn.__version__, "X": X.tolist(), "number": number.tolist(),
       "classes": classes.tolist(), "weights": weights.tolist(), "nets": [], "logistic": []}
for weighted in (False, True):
    w = weights if weighted else None
    for alpha, ratio, intercept in [(.5, 1, True), (.05, 1, True), (.05, 1, False), (.2, .5, True), (.01, .1, False)]:
        m = ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=intercept, tol=1e-14, max_iter=1000000)
        m.fit(X, number, sample_weight=w)
        out["nets"].append({"weighted": weighted, "alpha": alpha, "l1_ratio": ratio, "intercept": intercept,
                            "coef": m.coef_.tolist(), "b": float(m.intercept_)})
    for count in (2, 3):
        for C, ratio in [(.2, 1), (1, 1), (1, .5)]:
            for intercept in (True, False):
                m = LogisticRegression(C=C, l1_ratio=ratio, fit_intercept=intercept, solver="saga", tol=1e-13,
                                       max_iter=1000000)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    m.fit(X, np.minimum(classes, count - 1), sample_weight=w)
                out["logistic"].append({"weighted": weighted, "classes": count, "C": C, "l1_ratio": ratio,
                                        "intercept": intercept, "coef": m.coef_.tolist(), "b": m.intercept_.tolist()})
json.dump(out, sys.stdout)

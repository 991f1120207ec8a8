"""Writes peer.json: what scikit-learn's permutation_importance and partial_dependence say of the function in it.

    python inspection/testdata/peer.py > inspection/testdata/peer.json
"""
import json

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence, permutation_importance


class Function(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]


rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(80, 4)), 6)
model = Function().fit(X, None)
y = np.round(model.predict(X) + 0.1 * rng.normal(size=80), 6)
found = permutation_importance(model, X, y, scoring="r2", n_repeats=2000, random_state=0)
effects = []
for j in range(4):
    grid = np.unique(np.quantile(X[:, j], [0.1, 0.5, 0.9]))
    e = partial_dependence(model, X, [j], custom_values={j: grid}, method="brute", kind="average")
    effects.append({"values": grid.tolist(), "mean": e["average"][0].tolist()})
print(json.dumps({
    "scikit_learn": sklearn.__version__, "x": X.tolist(), "y": y.tolist(),
    "mean": found.importances_mean.tolist(), "std": found.importances_std.tolist(), "effects": effects,
}))

import json, sys, time

import numpy as np
import sklearn
from sklearn.svm import SVR

t = json.loads(sys.argv[1])
rng = np.random.default_rng(0)


def draw(n):
    X = rng.normal(size=(n, t["Inputs"]))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


X, y = draw(t["Rows"])
began, clock = time.process_time(), time.perf_counter()
model = SVR(kernel="rbf", gamma=t["Gamma"], C=1 / t["Alpha"], epsilon=0.1, cache_size=1000).fit(X, y)
took, clock = time.process_time() - began, time.perf_counter() - clock
X, y = draw(2000)
print(json.dumps({"peer": "SVR " + sklearn.__version__, "cpu_seconds": took, "clock_seconds": clock, "R2": model.score(X, y)}))

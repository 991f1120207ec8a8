"""Fits scikit-learn's models to three of the sets; a JSON object a line. Called by the program."""

import gzip
import json
import sys
import time

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR


def lines(path):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    return (line for line in opened if line.strip() and line[0] not in "@%")


def table(path):
    return np.array([[float(v) for v in line.split(",")] for line in lines(path)])


def scaled(train, test):
    low, high = train.min(0), train.max(0)
    width = np.where(high > low, high - low, 1)
    return (train - low) / width, (test - low) / width


def report(data, method, model, X, y, tX, ty):
    start = time.process_time()
    model.fit(X, y)
    cpu = time.process_time() - start
    got = model.predict(tX)
    relative = isinstance(model, SVR) or isinstance(getattr(model, "steps", [(0, 0)])[-1][1], Ridge)
    error = np.linalg.norm(got - ty) / np.linalg.norm(ty) if relative else np.mean(got != ty)
    print(json.dumps(dict(Data=data, Method=method, Rows=len(y), Error=100 * error, CPU=cpu)), flush=True)


a9a, a9a_test, cpu_act, covtype = sys.argv[1:]

X, y = load_svmlight_file(a9a, n_features=123)
tX, ty = load_svmlight_file(a9a_test, n_features=123)
X, tX = X.toarray(), tX.toarray()
report("Adult", "RBFSampler, D = 500, RidgeClassifier", make_pipeline(RBFSampler(gamma=0.02, n_components=500, random_state=1), RidgeClassifier(alpha=1)), X, y, tX, ty)
report("Adult", "SVC, gaussian, γ = 0.01, C = 10", SVC(gamma=0.01, C=10, cache_size=1000), X[:10000], y[:10000], tX, ty)

rows = table(cpu_act)
np.random.default_rng(1).shuffle(rows)
X, tX = scaled(rows[:6553, :-1], rows[6553:, :-1])
y, ty = rows[:6553, -1], rows[6553:, -1]
report("CPU", "RBFSampler, D = 300, Ridge", make_pipeline(RBFSampler(gamma=0.1, n_components=300, random_state=1), Ridge(alpha=1e-5)), X, y, tX, ty)
report("CPU", "SVR, gaussian, γ = 1, C = 100", SVR(gamma=1, C=100, cache_size=1000), X, y, tX, ty)

rows = table(covtype)
X, tX = scaled(rows[:80000, :-1], rows[80000:, :-1])
y, ty = rows[:80000, -1] == 2, rows[80000:, -1] == 2
report("Forest Cover", "RBFSampler, D = 1000, RidgeClassifier", make_pipeline(RBFSampler(gamma=4, n_components=1000, random_state=1), RidgeClassifier(alpha=0.1)), X, y, tX, ty)
single, tsingle = X.astype(np.float32), tX.astype(np.float32)
report("Forest Cover", "RBFSampler, D = 5000, RidgeClassifier, float32", make_pipeline(RBFSampler(gamma=4, n_components=5000, random_state=1), RidgeClassifier(alpha=0.1)), single, y, tsingle, ty)
report("Forest Cover", "SVC, gaussian, γ = 32, C = 10", SVC(gamma=32, C=10, cache_size=1000), X[:20000], y[:20000], tX, ty)

"""The peers of examples/family, which calls this:

    python peers.py NAME FOLDER    learns from train.csv of the folder, looks at test.csv, and
                                   prints a JSON object: scores by name, seconds of processor
                                   time without reading and importing, and the version

The target is the column y. Scores are those of scikit-learn.metrics.
"""

import json
import math
import os
import sys
import time

import numpy as np
import pandas
import sklearn
from sklearn import metrics

SEED = 1


class Rows:
    def __init__(self, folder):
        def read(name):
            table = pandas.read_csv(os.path.join(folder, name), dtype={"y": str})
            y = table.pop("y").to_numpy()
            try:
                y = y.astype(float)
            except ValueError:
                pass
            return table.to_numpy(dtype=float), y

        self.X, self.y = read("train.csv")
        self.X_test, self.y_test = read("test.csv")


def standardized(*steps):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), *steps)


def regression_scores(truth, said):
    return {
        "r2": metrics.r2_score(truth, said),
        "root_mean_squared_error": math.sqrt(metrics.mean_squared_error(truth, said)),
    }


def kernel_error(rows):
    """RBFSampler of 512 features: the root mean square of its errors at pairs of rows."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.metrics.pairwise import rbf_kernel

    X = standardized().fit_transform(rows.X)[:500]
    gamma = 1 / X.shape[1]
    exact, errors = rbf_kernel(X, gamma=gamma), []
    off = ~np.eye(len(X), dtype=bool)
    for seed in range(20):
        Z = RBFSampler(gamma=gamma, n_components=512, random_state=seed).fit_transform(X)
        errors.append(np.mean((Z @ Z.T - exact)[off] ** 2))
    return {"kernel_rms": math.sqrt(np.mean(errors))}


def sgd(rows):
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import SGDClassifier

    model = standardized(
        RBFSampler(gamma=0.1, n_components=1000, random_state=SEED),
        SGDClassifier(loss="log_loss", alpha=1e-6, average=True, max_iter=10, tol=None, random_state=SEED),
    ).fit(rows.X, rows.y)
    return {"accuracy": model.score(rows.X_test, rows.y_test)}


def mlp(rows):
    from sklearn.neural_network import MLPRegressor

    model = standardized(
        MLPRegressor(hidden_layer_sizes=(512,), early_stopping=True, max_iter=500, n_iter_no_change=20, random_state=SEED)
    ).fit(rows.X, (rows.y - rows.y.mean()) / rows.y.std())
    return regression_scores(rows.y_test, model.predict(rows.X_test) * rows.y.std() + rows.y.mean())


def gaussian_process(rows):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    kernel = ConstantKernel() * RBF(np.ones(rows.X.shape[1])) + WhiteKernel(0.1)
    model = standardized(
        GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=1, random_state=SEED)
    ).fit(rows.X, rows.y)
    mean, std = model.predict(rows.X_test, return_std=True)
    e = rows.y_test - mean
    return regression_scores(rows.y_test, mean) | {
        "nlpd": float(np.mean(0.5 * np.log(2 * math.pi * std**2) + e**2 / (2 * std**2))),
        "coverage": float(np.mean(np.abs(e) <= 1.6448536269514722 * std)),
        "width": float(np.mean(2 * 1.6448536269514722 * std)),
    }


def attention(rows):
    """Exact causal attention of 8 heads, each 64 wide, over 4,096 positions, by numpy."""
    rng = np.random.default_rng(SEED)
    n, width = 4096, 64
    mask = np.tril(np.ones((n, n), dtype=bool))
    for _ in range(8):
        q, k, v = (rng.standard_normal((n, width), dtype=np.float32) * np.float32(sd) for sd in (0.5, 0.5, 1))
        s = q @ k.T / np.float32(math.sqrt(width))
        s = np.where(mask, s, np.float32(-np.inf))
        s -= s.max(axis=1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(axis=1, keepdims=True)
        s @ v
    return {}


def kernel_pca(rows):
    from sklearn.decomposition import KernelPCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(KernelPCA(2, kernel="rbf", gamma=3), LogisticRegression()).fit(rows.X, rows.y)
    return {"accuracy": model.score(rows.X_test, rows.y_test)}


def cluster_scores(rows, labels):
    return {
        "adjusted_rand": metrics.adjusted_rand_score(rows.y, labels),
        "normalized_mutual_info": metrics.normalized_mutual_info_score(rows.y, labels),
    }


def kmeans(rows):
    from sklearn.cluster import KMeans

    model = KMeans(10, n_init=10, random_state=SEED).fit(rows.X)
    return cluster_scores(rows, model.labels_) | {"inertia": model.inertia_}


def spectral(rows):
    from sklearn.cluster import SpectralClustering

    return cluster_scores(rows, SpectralClustering(2, gamma=50, random_state=SEED).fit_predict(rows.X))


def anomaly_scores(rows, model):
    usual = np.asarray(rows.y == 0)
    model.fit(rows.X[usual])
    return {"roc_auc": metrics.roc_auc_score(rows.y_test, -model.decision_function(rows.X_test))}


def one_class_svm(rows):
    from sklearn.svm import OneClassSVM

    return anomaly_scores(rows, standardized(OneClassSVM(nu=0.01, gamma=0.02)))


def isolation_forest(rows):
    from sklearn.ensemble import IsolationForest

    return anomaly_scores(rows, IsolationForest(random_state=SEED))


def calibrated(rows):
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.svm import LinearSVC

    model = standardized(
        RBFSampler(gamma=0.1, n_components=1000, random_state=SEED),
        CalibratedClassifierCV(LinearSVC(C=1, dual=False), method="isotonic", cv=5),
    ).fit(rows.X, rows.y)
    p = model.predict_proba(rows.X_test)
    return {
        "accuracy": model.score(rows.X_test, rows.y_test),
        "log_loss": metrics.log_loss(rows.y_test, p, labels=model.classes_),
    }


def mapie(rows):
    from mapie.regression import CrossConformalRegressor
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import Ridge

    change = standardized(RBFSampler(gamma=0.05, n_components=200, random_state=SEED))
    Z, Z_test = change.fit_transform(rows.X), change.transform(rows.X_test)
    model = CrossConformalRegressor(Ridge(alpha=0.1), confidence_level=0.9, method="plus", cv=-1)
    model.fit_conformalize(Z, rows.y)
    _, ends = model.predict_interval(Z_test)
    lower, upper = ends[:, 0, 0], ends[:, 1, 0]
    return {
        "coverage": float(np.mean((lower <= rows.y_test) & (rows.y_test <= upper))),
        "width": float(np.mean(upper - lower)),
    }


def main():
    name, folder = sys.argv[1:]
    rows = Rows(folder) if os.path.exists(os.path.join(folder, "train.csv")) else None
    method = globals()[name]
    version = sklearn.__version__
    if name == "attention":
        version = np.__version__
    if name == "mapie":
        import mapie as package

        version = package.__version__
    start = time.process_time()
    scores = method(rows)
    print(json.dumps({"scores": scores, "seconds": time.process_time() - start, "version": version}))


main()

"""Writes large_c.json: support vector machines of large C by LIBSVM, as scikit-learn has it.

    python large_c.py > large_c.json

The dual objective is computed from the coefficients with float64 kernel values. LIBSVM, which rounds kernel values to
float32, attains it within 1e-3 where it converges.
"""
import json
import sys

import numpy as np
import sklearn
from sklearn.metrics.pairwise import chi2_kernel, cosine_similarity, laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, SVR

rng = np.random.default_rng(3)
n = 60
X = np.abs(rng.normal(size=(n, 3))).round(3)
f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] - 1 + .3 * rng.normal(size=n)
f = f.round(3)
signs = np.where(f > 0, 1, -1)
kernels = {"gaussian": rbf_kernel, "laplacian": laplacian_kernel, "chi2": chi2_kernel,
           "cosine": lambda X, gamma: cosine_similarity(X),
           "polynomial": lambda X, gamma: polynomial_kernel(X, gamma=gamma, degree=3, coef0=1)}
out = {"program": "scikit-learn " + sklearn.__version__, "X": X.tolist(), "targets": f.tolist(), "cases": []}
for name, gamma, C in [("gaussian", .3, 1e3), ("gaussian", .3, 1e5), ("gaussian", .01, 1e5), ("gaussian", .01, 1e6),
                       ("laplacian", .3, 1e5), ("chi2", .3, 1e4), ("cosine", 1, 1e3), ("cosine", 1, 1e5), ("polynomial", .3, 1e3),
                       ("polynomial", .3, 1e5)]:
    K = kernels[name](X, gamma=gamma)
    for regression in (False, True)[:1 if C == 1e6 else 2]:  # LIBSVM takes 10 million steps for the other
        y, epsilon = (f, .2) if regression else (signs, 0)
        model = SVR(kernel="precomputed", C=C, epsilon=.2) if regression else SVC(kernel="precomputed", C=C)
        model.set_params(tol=1e-4, max_iter=15_000_000).fit(K, y)
        b = np.zeros(n)
        b[model.support_] = model.dual_coef_[0]
        dual = b @ y - epsilon * np.abs(b).sum() - b @ K @ b / 2
        out["cases"].append({"kernel": name, "gamma": gamma, "C": C, "regression": regression, "dual": dual,
                             "converged": model.fit_status_ == 0})
        print(out["cases"][-1], model.n_iter_, file=sys.stderr, flush=True)
json.dump(out, sys.stdout)

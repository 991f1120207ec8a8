"""Writes sgd_reference.json: what scikit-learn's SGD comes to step by step, and least objectives by scipy.

    python sgd_reference.py > sgd_reference.json
"""
import json
import sys
import warnings

import numpy as np
import scipy.optimize as so
import sklearn
from sklearn.linear_model import SGDClassifier, SGDRegressor

warnings.simplefilter("ignore")
rng = np.random.default_rng(13)


def rounded(a):
    return np.asarray(a, float).round(3)


def rows(n):
    X = rounded(rng.normal(size=(n, 4)) * [1, 0.5, 1.5, 0.2] + [0.3, 0, 0, 0.1])
    f = X[:, 0] - 2 * X[:, 1] + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, rounded(f), (f > 0.2).astype(int), np.digitize(f, [-0.7, 0.7])


out = {"program": "scikit-learn " + sklearn.__version__, "steps": [], "least": []}
X, number, two, three = rows(24)
X = rounded(X / 2)
s = rounded(rng.uniform(0.5, 2, 24))
out["few"] = {"X": X.tolist(), "number": number.tolist(), "two": two.tolist(), "three": three.tolist(), "weights": s.tolist()}

# Steps: one row at a time, in order, two epochs. Rate optimal begins with steps of alpha**-0.25.
penalties = [("l2", 0), ("l1", 0), ("elasticnet", 0), (None, 0), ("l2", 7)]
for loss in ["hinge", "squared_hinge", "log_loss", "modified_huber", "perceptron", "squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]:
    for penalty, average in penalties:
        for rate in ["optimal", "invscaling", "constant"]:
            if (penalty, rate) in [(None, "constant"), ("elasticnet", "constant")] or loss.startswith("squared_") and rate == "optimal":  # which begins too large for it
                continue
            classes = loss in ["hinge", "squared_hinge", "log_loss", "modified_huber", "perceptron"]
            kind = SGDClassifier if classes else SGDRegressor
            p = dict(loss=loss, penalty=penalty, alpha=0.5 if rate == "optimal" else 0.02, l1_ratio=0.3, learning_rate=rate, eta0=0.05, power_t=0.4, epsilon=0.2, average=average or False)
            for target in ["two", "three"] if classes else ["number"]:
                if target == "three" and (penalty, rate) != ("elasticnet", "invscaling"):
                    continue
                y = {"two": two, "three": three, "number": number}[target]
                m = kind(shuffle=False, max_iter=2, tol=None, **p).fit(X, y, sample_weight=s)
                out["steps"].append(dict(p, penalty=penalty or "none", target=target, coef=np.atleast_2d(m.coef_).tolist(), intercept=np.atleast_1d(m.intercept_).tolist()))

# Least objectives: mean loss + alpha·((1−ρ)/2·|w|² + ρ·|w|₁), intercept free. Kinks become constraints.
X, number, two, _ = rows(120)
out["many"] = {"X": X.tolist(), "number": number.tolist(), "two": two.tolist()}
n, d = X.shape
t = 2.0 * two - 1
alpha, eps = 0.05, 0.2
smooth = {
    "squared_hinge": lambda p: (np.maximum(0, 1 - t * p) ** 2, -2 * t * np.maximum(0, 1 - t * p)),
    "log_loss": lambda p: (np.logaddexp(0, -t * p), -t / (1 + np.exp(t * p))),
    "modified_huber": lambda p: (np.where(t * p < -1, -4 * t * p, np.maximum(0, 1 - t * p) ** 2), np.where(t * p < -1, -4 * t, -2 * t * np.maximum(0, 1 - t * p))),
    "squared_error": lambda p: ((p - number) ** 2 / 2, p - number),
    "huber": lambda p: (np.where(abs(p - number) > eps, eps * abs(p - number) - eps**2 / 2, (p - number) ** 2 / 2), np.clip(p - number, -eps, eps)),
    "squared_epsilon_insensitive": lambda p: (np.maximum(0, abs(p - number) - eps) ** 2, 2 * np.sign(p - number) * np.maximum(0, abs(p - number) - eps)),
}
for penalty, rho in [("l2", 0.0), ("l1", 1.0), ("elasticnet", 0.3)]:
    for loss, f in smooth.items():

        def objective(v):  # w = v[:d] − v[d:2d]
            w = v[:d] - v[d : 2 * d]
            value, slope = f(X @ w + v[-1])
            g = X.T @ slope / n + alpha * (1 - rho) * w
            g = np.concatenate([g + alpha * rho, -g + alpha * rho, [slope.mean()]])
            return value.mean() + alpha * (1 - rho) / 2 * w @ w + alpha * rho * v[: 2 * d].sum(), g

        best = so.minimize(objective, np.zeros(2 * d + 1), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * d) + [(None, None)], options=dict(maxiter=10000, ftol=1e-15, gtol=1e-10))
        out["least"].append(dict(loss=loss, penalty=penalty, objective=best.fun))
    for loss in ["hinge", "epsilon_insensitive"]:
        # slack ≥ each of the pieces a − c·p of the loss, and ≥ 0
        pieces = [(np.ones(n), t)] if loss == "hinge" else [(-number - eps, -np.ones(n)), (number - eps, np.ones(n))]
        A = np.vstack([np.hstack([c[:, None] * X, -c[:, None] * X, c[:, None], np.eye(n)]) for _, c in pieces])
        b = np.concatenate([a for a, _ in pieces])

        def value(v):
            w = v[:d] - v[d : 2 * d]
            return v[2 * d + 1 :].mean() + alpha * (1 - rho) / 2 * w @ w + alpha * rho * v[: 2 * d].sum()

        def slope(v):
            g = alpha * (1 - rho) * (v[:d] - v[d : 2 * d])
            return np.concatenate([g + alpha * rho, -g + alpha * rho, [0], np.full(n, 1 / n)])

        bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
        start = so.linprog(slope(np.zeros(2 * d + 1 + n)), A_ub=-A, b_ub=-b, bounds=bounds).x
        best = so.minimize(value, start, jac=slope, method="SLSQP", bounds=bounds, constraints=[dict(type="ineq", fun=lambda v: A @ v - b, jac=lambda v: A)], options=dict(maxiter=500, ftol=1e-13))
        print(penalty, loss, best.message, best.fun, value(start), file=sys.stderr)
        out["least"].append(dict(loss=loss, penalty=penalty, objective=best.fun))
print(json.dumps(out))

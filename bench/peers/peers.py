"""Fits gradient boosting, linear trees and liblinear on the rows of two files and prints a JSON line for each.

usage: peers.py THREADS FOLDER TASK COLUMNS GAMMA FEATURES [SCORE MODEL;...]

FOLDER has train.npy and test.npy, whose last column is the target, and TASK is regression or classification. Each line
has what it is, seconds of the fit, and the accuracy, or R², on the test rows. Boosting is fitted with more and more trees, up
to 3000, and each number is a fit of its own. Models are expressions; with them only these are fitted, on random features.
"""
import json, os, sys, time
threads, folder, task = int(sys.argv[1]), sys.argv[2], sys.argv[3]
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = str(threads)
import lightgbm, numpy as np, sklearn
from sklearn.kernel_approximation import RBFSampler
from sklearn import metrics
from sklearn.linear_model import GammaRegressor, HuberRegressor, LogisticRegression, PoissonRegressor, QuantileRegressor, Ridge, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

columns, gamma, features = int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6])
train, test = (np.fromfile(os.path.join(folder, name)).reshape(-1, columns) for name in ("train", "test"))
X, y, Z, truth = train[:, :-1], train[:, -1], test[:, :-1], test[:, -1]


def line(what, model):
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    value = scores[score](truth, model.predict(Z)) if score else model.score(Z, truth)
    print(json.dumps({"what": what, "seconds": seconds, "score": float(value)}), flush=True)


score, models = sys.argv[7], [m for m in sys.argv[8].split(";") if m]
scores = {
    "d2_poisson": lambda t, p: metrics.d2_tweedie_score(t, p, power=1),
    "d2_gamma": lambda t, p: metrics.d2_tweedie_score(t, p, power=2),
    "d2_tweedie_1.5": lambda t, p: metrics.d2_tweedie_score(t, p, power=1.5),
    "d2_pinball_0.9": lambda t, p: metrics.d2_pinball_score(t, p, alpha=0.9),
    "d2_absolute_error": metrics.d2_absolute_error_score,
}
classes = task == "classification"
boosting = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
print(json.dumps({"versions": "scikit-learn %s, LightGBM %s, numpy %s, Python %s" % (sklearn.__version__, lightgbm.__version__, np.__version__, sys.version.split()[0])}), flush=True)
lifted = lambda last: make_pipeline(StandardScaler(), RBFSampler(gamma=gamma, n_components=features, random_state=0), last)
if models:
    for model in models:
        line("scikit-learn, " + model, lifted(eval(model)))
    sys.exit()
for what, more in (("LightGBM", {}), ("LightGBM, linear", {"linear_tree": True})):
    for rounds in (30, 100, 300, 1000):
        line("%s, %d trees" % (what, rounds), boosting(n_estimators=rounds, learning_rate=0.1, num_leaves=63, n_jobs=threads, verbose=-1, random_state=0, **more))
if classes:
    line("liblinear, LinearSVC on the same features", lifted(LinearSVC(C=1.0, dual="auto", max_iter=200)))
    line("liblinear, LogisticRegression on the same features", lifted(LogisticRegression(C=1.0, solver="liblinear", max_iter=200)))
else:
    line("scikit-learn, Ridge on the same features", lifted(Ridge(0.1)))

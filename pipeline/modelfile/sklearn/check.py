"""Fits pipelines in scikit-learn, writes them as model files, and compares what `bochner predict` says of rows that none of
them has seen with what scikit-learn says: labels have to be equal, values and probabilities within 1e-9.

    python check.py BOCHNER FOLDER-OF-THE-REPOSITORY FOLDER-TO-WORK-IN [--keep]

With --keep it writes the files of testdata anew, which `go test ./sklearn` reads.
"""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import warnings

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (ElasticNet, GammaRegressor, HuberRegressor, LassoCV, LinearRegression,
                                  LogisticRegression, LogisticRegressionCV, Perceptron, PoissonRegressor, QuantileRegressor, Ridge,
                                  RidgeClassifier, RidgeCV, SGDClassifier, SGDRegressor, TweedieRegressor)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (FunctionTransformer, KBinsDiscretizer, MaxAbsScaler, MinMaxScaler, OneHotEncoder, OrdinalEncoder,
                                   PolynomialFeatures, QuantileTransformer, RobustScaler, StandardScaler)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR

bochner, repository, work = sys.argv[1:4]
sys.path.insert(0, os.path.join(repository, "pipeline", "modelfile", "sklearn"))
import bochner_sklearn

TOLERANCE = 1e-9
for kind in (ConvergenceWarning, FutureWarning, UserWarning):
    warnings.simplefilter("ignore", kind)

NAMES = ["age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship", "race", "sex",
         "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"]
NUMBERS = ["age", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
TEXTS = ["workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country"]


def adult(part, rows):
    path = os.path.join(repository, "datasets", "builtin", "data", "adult.%s.gz" % part)
    table = pd.read_csv(path, names=NAMES, skipinitialspace=True, na_values="?", comment="|", nrows=rows)
    table["income"] = table["income"].str.rstrip(".")
    return table.drop(columns="fnlwgt")


train, unseen = adult("data", 1500), adult("test", 1000)
X, y = train.drop(columns="income"), train["income"]
whole = unseen.drop(columns="income")  # has missing categories only
rng = np.random.default_rng(7)
holes = whole.copy()
for name in holes.columns:
    lost = rng.random(len(holes)) < 0.1
    holes[name] = holes[name].astype(object if name in TEXTS else float)
    holes.loc[lost, name] = np.nan
    if name in TEXTS:
        holes.loc[rng.random(len(holes)) < 0.05, name] = "never seen, \"%s\"" % name
numbers, numbers_unseen = X[NUMBERS], whole[NUMBERS]


def onehot(**more):
    return OneHotEncoder(handle_unknown="ignore", **more)


def mixed(numeric=None, texts=None, **more):
    """The columns of adult, each kind in its own way."""
    numeric = numeric or make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    texts = texts or make_pipeline(SimpleImputer(strategy="most_frequent"), onehot())
    return ColumnTransformer([("numeric", numeric, NUMBERS), ("texts", texts, TEXTS)], **more)


def rff(features=100, gamma=0.05):
    return RBFSampler(gamma=gamma, n_components=features, random_state=1)


codes = pd.DataFrame({"size": rng.normal(size=600), "code": rng.choice([3, 1, 20], 600), "flag": rng.random(600) < 0.5, "grade": rng.choice(["low", "mid", "high"], 600)})
codes_y = (codes["size"] + codes["code"] / 10 + codes["flag"] > 1).astype(int) + (codes["grade"] == "high")
codes_unseen = pd.DataFrame({"size": rng.normal(size=1000), "code": rng.choice([3, 1, 20, 77], 1000), "flag": rng.random(1000) < 0.5, "grade": rng.choice(["low", "mid", "high", "top"], 1000)})


def awkward(n):
    return pd.DataFrame({"a b, c": rng.normal(size=n), "x*": rng.choice(["a", "é\t\"b\"", "c: {d}", "- [e]", "true", "1.0"], n), "gone": "x", "numeric": rng.choice(["null", "~", "#", " a b "], n)})


amounts = np.exp(0.02 * X["age"] + 0.1 * X["education_num"])

# Each: a pipeline, the rows it learns from, their targets, rows that it has not seen, and what is otherwise.
CASES = {
    "adult, random features, logistic": (Pipeline([("prepare", mixed()), ("features", rff(300)), ("model", LogisticRegression(C=10))]), X, y, holes),
    "adult, missing as a category, no first ones, ridge_classifier": (make_pipeline(mixed(make_pipeline(SimpleImputer(), MinMaxScaler((-1, 2), clip=True)), onehot(drop="first")), RidgeClassifier(alpha=2)), X, y, holes),
    "adult, constants, indicators, svm on landmarks": (make_pipeline(mixed(make_pipeline(SimpleImputer(strategy="constant", fill_value=-1, add_indicator=True), RobustScaler()), make_pipeline(SimpleImputer(strategy="constant", fill_value="missing"), onehot(drop="if_binary"))), Nystroem(gamma=0.05, n_components=80, random_state=2), LinearSVC(C=0.5)), X, y, holes),
    "adult, ordinal, hinge by descent": (make_pipeline(ColumnTransformer([("n", make_pipeline(SimpleImputer(), MaxAbsScaler()), NUMBERS), ("t", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2), ["workclass", "occupation"]), ("r", make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)), ["race", "sex"])]), StandardScaler(), SGDClassifier(random_state=0)), X, y, holes),
    "adult, ordinal, unknown as missing": (make_pipeline(ColumnTransformer([("t", make_pipeline(SimpleImputer(strategy="most_frequent"), OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), SimpleImputer(strategy="mean")), TEXTS)]), StandardScaler(), Perceptron(random_state=0)), X, y, holes),
    "adult, seven classes, whitened components": (make_pipeline(mixed(texts=make_pipeline(SimpleImputer(strategy="most_frequent"), onehot(sparse_output=False))), PCA(n_components=12, whiten=True, random_state=0), LogisticRegression()), X.assign(relationship="none"), X["relationship"], holes.assign(relationship="none")),
    "adult, a union with weights, log loss by descent": (make_pipeline(mixed(), FeatureUnion([("wide", rff(60, 0.2)), ("near", Nystroem(kernel="laplacian", gamma=0.1, n_components=40, random_state=3)), ("as they are", "passthrough"), ("none", "drop")], transformer_weights={"near": 2, "wide": 0.5}), SGDClassifier(loss="log_loss", alpha=1e-3, random_state=0)), X, y, holes),
    "adult, quantiles, found by a grid": (GridSearchCV(make_pipeline(mixed(make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=0))), rff(), LogisticRegression()), {"rbfsampler__gamma": [0.01, 0.1], "logisticregression__C": [1, 10]}, cv=2), X, y, holes),
    "adult, min_frequency without rare ones, random search": (RandomizedSearchCV(make_pipeline(mixed(texts=onehot(min_frequency=1, sparse_output=False)), LinearDiscriminantAnalysis()), {"columntransformer__numeric__standardscaler__with_mean": [True, False]}, n_iter=2, cv=2, random_state=0), X, y, holes),
    "adult, sparse columns scaled without a mean": (make_pipeline(ColumnTransformer([("t", onehot(), TEXTS)], sparse_threshold=1), StandardScaler(with_mean=False), LinearSVC(loss="hinge", max_iter=20000)), X, y, holes),
    "adult, sparse columns scaled with a mean": (make_pipeline(onehot(sparse_output=False), StandardScaler(), LogisticRegressionCV(Cs=2, cv=2)), X[TEXTS], y, holes[TEXTS]),
    "adult, singular vectors of columns": (make_pipeline(onehot(), TruncatedSVD(n_components=15, random_state=0), LogisticRegression()), X[TEXTS], y, holes[TEXTS]),
    "adult, pipelines in pipelines, rest passed": (make_pipeline(ColumnTransformer([("t", Pipeline([("fill", SimpleImputer(strategy="most_frequent")), ("inner", Pipeline([("code", onehot())]))]), TEXTS), ("age", "passthrough", ["age"]), ("gone", "drop", ["capital_loss"])], remainder="passthrough", sparse_threshold=0, transformer_weights={"age": 0.1}), SimpleImputer(), VarianceThreshold(0.01), MinMaxScaler(), RidgeClassifier()), X, y, holes),
    "adult by kinds, ages by ridge": (make_pipeline(ColumnTransformer([("n", make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")), ("t", onehot(), make_column_selector(dtype_exclude="number"))]), rff(200), Ridge(alpha=0.1)), X.drop(columns="age"), X["age"], holes.drop(columns="age")),
    "numbers, the exact kernel": (make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1)), numbers[:700], X["education_num"][:700], numbers_unseen),
    "an array, the laplacian kernel of two targets": (make_pipeline(StandardScaler(), KernelRidge(kernel="laplacian", alpha=1)), numbers[:500].to_numpy(float), numbers[:500].to_numpy(float)[:, :2] / 10, numbers_unseen.to_numpy(float)),
    "numbers, logarithms of targets": (TransformedTargetRegressor(make_pipeline(StandardScaler(), rff(150), Ridge(alpha=1)), func=np.log, inverse_func=np.exp), numbers, amounts, numbers_unseen),
    "numbers, scaled targets of a support vector regression": (make_pipeline(StandardScaler(), Nystroem(n_components=50, random_state=0), TransformedTargetRegressor(LinearSVR(C=10, epsilon=0.01, max_iter=20000), transformer=MinMaxScaler())), numbers, amounts, numbers_unseen),
    "numbers, Poisson": (make_pipeline(StandardScaler(), rff(60), PoissonRegressor(alpha=0.01)), numbers, np.floor(amounts), numbers_unseen),
    "numbers, gamma": (make_pipeline(StandardScaler(), GammaRegressor()), numbers, amounts, numbers_unseen),
    "numbers, Tweedie": (make_pipeline(StandardScaler(), TweedieRegressor(power=1.3, alpha=0.1)), numbers, np.floor(amounts), numbers_unseen),
    "numbers, robust": (make_pipeline(StandardScaler(), HuberRegressor(max_iter=1000)), numbers, amounts, numbers_unseen),
    "numbers, few weights": (make_pipeline(StandardScaler(), rff(50), LassoCV()), numbers[:500], amounts[:500], numbers_unseen),
    "numbers, a net": (make_pipeline(StandardScaler(), ElasticNet(alpha=0.1, l1_ratio=0.7)), numbers[:500], amounts[:500], numbers_unseen),
    "numbers, classes by an L1 penalty": (make_pipeline(StandardScaler(), LogisticRegression(C=0.02, l1_ratio=1, solver="saga", max_iter=2000, random_state=0)), numbers[:500], y[:500], numbers_unseen),
    "numbers, a quantile": (make_pipeline(StandardScaler(), QuantileRegressor(quantile=0.8, alpha=0.01)), numbers[:500], amounts[:500], numbers_unseen),
    "numbers, three targets": (make_pipeline(RobustScaler(), PCA(3), LinearRegression()), numbers, np.c_[amounts, X["age"], np.log(amounts)], numbers_unseen),
    "numbers, three scaled targets": (TransformedTargetRegressor(make_pipeline(RobustScaler(), Ridge()), transformer=StandardScaler()), numbers, np.c_[amounts, X["age"], np.log(amounts)], numbers_unseen),
    "numbers, some of them, quantiles, elastic net": (make_pipeline(QuantileTransformer(n_quantiles=150, random_state=0), SelectKBest(f_regression, k=3), ElasticNet(alpha=0.01)), numbers, amounts, numbers_unseen),
    "an array, ridge of chosen penalty": (make_pipeline(StandardScaler(with_std=False), RidgeCV()), numbers.to_numpy(float), amounts.to_numpy(), numbers_unseen.to_numpy(float)),
    "an array, descent": (make_pipeline(StandardScaler(), SGDRegressor(random_state=0)), numbers.to_numpy(float), amounts.to_numpy(), numbers_unseen.to_numpy(float)),
    "codes and truth values as categories, classes 0 to 2": (make_pipeline(ColumnTransformer([("s", StandardScaler(), ["size"]), ("c", onehot(), ["code", "flag"]), ("g", OrdinalEncoder(categories=[["low", "mid", "high"]], handle_unknown="use_encoded_value", unknown_value=-1), ["grade"])]), rff(80, 0.5), LogisticRegression(C=100)), codes, codes_y, codes_unseen),
    "landmarks twice, which depend on each other": (make_pipeline(StandardScaler(), Nystroem(gamma=0.001, n_components=60, random_state=0), StandardScaler(), Ridge(alpha=1e-3)), numbers, amounts, numbers_unseen, {"tolerance": 1e-6}),
    "names that are awkward": (Pipeline([("1. prepare!", ColumnTransformer([("größe (cm)", StandardScaler(), ["a b, c"]), ("größe [cm]", onehot(), ["x*", "numeric"])])), ("columns", rff(20, 0.5)), ("input", LogisticRegression())]), awkward(300), awkward(300)["x*"].str.contains("a").map({True: "ja, \"so\"", False: "#nein"}), awkward(1000)),
    "adult, a kernel machine": (make_pipeline(mixed(), SVC(C=2, class_weight="balanced")), X[:800], y[:800], holes),
    "adult, a kernel machine with probabilities": (make_pipeline(mixed(sparse_threshold=0), SVC(probability=True, random_state=0)), X[:600], y[:600], holes),
    "adult, six classes by pairs, with probabilities": (make_pipeline(mixed(), SVC(C=3, gamma=0.1, probability=True, random_state=0)), X[:600].assign(relationship="none"), X["relationship"][:600], holes.assign(relationship="none")),
    "numbers, six classes by pairs, sigmoid": (make_pipeline(StandardScaler(), SVC(kernel="sigmoid", gamma=0.1, coef0=-0.5)), numbers[:700], X["relationship"][:700], numbers_unseen),
    "numbers, ties of pairs broken, by a grid": (GridSearchCV(make_pipeline(StandardScaler(), SVC(break_ties=True, class_weight="balanced")), {"svc__kernel": ["rbf", "linear"]}, cv=2), numbers[:500], X["relationship"][:500], numbers_unseen),
    "numbers, polynomials by pairs": (make_pipeline(MinMaxScaler(), SVC(kernel="poly", degree=2, coef0=0.3, probability=True, random_state=0)), numbers[:500], X["marital_status"][:500], numbers_unseen),
    "numbers, nu and pairs": (make_pipeline(StandardScaler(), NuSVC(nu=0.3, gamma=0.2, probability=True, random_state=0)), numbers[:500], np.digitize(X["age"][:500], [30, 45]), numbers_unseen),
    "numbers, nu, two classes, probabilities left out": (make_pipeline(StandardScaler(), NuSVC(nu=0.4, kernel="linear", probability=True, random_state=0)), numbers[:500], y[:500], numbers_unseen, {"probabilities": False}),
    "numbers, support vector regression": (make_pipeline(StandardScaler(), SVR(C=10, epsilon=0.05)), numbers[:700], amounts[:700], numbers_unseen),
    "numbers, regression by nu, scaled targets": (TransformedTargetRegressor(make_pipeline(StandardScaler(), NuSVR(kernel="sigmoid", gamma=0.05, C=2)), transformer=StandardScaler()), numbers[:700], amounts[:700], numbers_unseen),
    "an array, cubes of a support vector regression": (SVR(kernel="poly", gamma=1, coef0=1, C=0.1), np.minimum(numbers[:500].to_numpy(float), 60) / 60, amounts[:500].to_numpy(), np.minimum(numbers_unseen.to_numpy(float), 60) / 60),
    "an array, a constant support vector regression": (SVR(kernel="linear", epsilon=1000), numbers[:50].to_numpy(float), amounts[:50].to_numpy(), numbers_unseen.to_numpy(float)),
    "adult, sparse rows of a kernel machine": (make_pipeline(onehot(), SVC()), X[TEXTS][:600], X["relationship"][:600], holes[TEXTS]),
    "a model alone": (LogisticRegression(max_iter=2000), numbers / 100, y, numbers_unseen / 100),
    "labels alone": (make_pipeline(StandardScaler(), SGDClassifier(loss="modified_huber", random_state=0)), numbers, X["relationship"], numbers_unseen, {"probabilities": False}),
}


class Own(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X


class OwnScaler(StandardScaler):
    pass


# What is refused, and words of the complaints, each of which begins with the place.
REFUSED = {
    "a scaler of one's own": (make_pipeline(OwnScaler(), Ridge()), numbers, amounts, ["ownscaler: OwnScaler has no counterpart"]),
    "a step of one's own": (make_pipeline(Own(), Ridge()), numbers, amounts, ["own: Own has no counterpart"]),
    "several at once": (make_pipeline(ColumnTransformer([("n", make_pipeline(SimpleImputer(missing_values=-1), PolynomialFeatures(2)), NUMBERS), ("t", OneHotEncoder(), ["sex"]), ("r", OneHotEncoder(handle_unknown="ignore", min_frequency=100), ["race"])]), FunctionTransformer(np.tanh), GaussianNB(var_smoothing=1e-3)), X, y,
                        ["columntransformer.n.simpleimputer: missing_values=-1", "columntransformer.n.polynomialfeatures: PolynomialFeatures has no counterpart", "columntransformer.t: handle_unknown='error'", "columntransformer.r: min_frequency=100", "functiontransformer: FunctionTransformer has no counterpart for func=tanh", "gaussiannb: GaussianNB has no counterpart"]),
    "no model at all": (Pipeline([("scale", StandardScaler()), ("nothing", "passthrough")]), numbers, amounts, ["nothing: no model follows"]),
    "no model": (make_pipeline(StandardScaler(), PCA(2)), numbers, amounts, ["pca: PCA is a step, and no model follows"]),
    "clusters": (make_pipeline(StandardScaler(), KMeans(2)), numbers, amounts, ["kmeans: KMeans has no counterpart"]),
    "a matrix of kernels": (SVC(kernel="precomputed"), np.eye(60), y[:60], ["the pipeline: kernel='precomputed': rbf, linear, poly and sigmoid have a counterpart"]),
    "a function as a kernel": (make_pipeline(StandardScaler(), SVR(kernel=lambda a, b: a @ b.T)), numbers[:50], amounts[:50], ["svr: kernel=<function"]),
    "an odd polynomial": (make_pipeline(StandardScaler(), SVC(kernel="poly", coef0=-1, degree=2)), numbers[:50], y[:50], ["svc: degree=2, coef0=-1.0: a degree from 1 to 64"]),
    "another kernel": (make_pipeline(Nystroem(kernel="cosine", n_components=5), Ridge()), numbers, amounts, ["nystroem: kernel='cosine'"]),
    "another exact kernel": (KernelRidge(kernel="poly"), numbers[:50] / 100, amounts[:50], ["the pipeline: kernel='poly'"]),
    "logarithms of targets and 1": (TransformedTargetRegressor(Ridge(), func=np.log1p, inverse_func=np.expm1), numbers, amounts, ["func=log1p, inverse_func=expm1"]),
    "ranks of targets": (TransformedTargetRegressor(Ridge(), transformer=QuantileTransformer(n_quantiles=10)), numbers, amounts, ["transformer=QuantileTransformer"]),
    "several labels": (make_pipeline(RidgeClassifier()), numbers, np.c_[X["age"] > 30, X["education_num"] > 9].astype(int), ["ridgeclassifier: coef_ is (2, 5) for 2 classes and 5 columns: several labels"]),
    "probabilities one by one": (make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss")), numbers, X["relationship"], ["sgdclassifier: loss='log_loss' with 6 classes"]),
    "categories of a step": (make_pipeline(KBinsDiscretizer(3, encode="ordinal"), onehot(), Ridge()), numbers, amounts, ["kbinsdiscretizer", ]),
    "a number and a category": (make_pipeline(ColumnTransformer([("a", StandardScaler(), ["education_num"]), ("b", onehot(), ["education_num"])]), Ridge()), X, amounts, ["columntransformer.a: column education_num is one of categories for an encoder and one of numbers here"]),
    "an unknown number": (make_pipeline(OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99), Ridge()), X[["sex"]], amounts, ["ordinalencoder: unknown_value=99"]),
    "a factor below 0": (make_pipeline(FeatureUnion([("s", StandardScaler())], transformer_weights={"s": -1}), Ridge()), numbers, amounts, ["featureunion.s: transformer_weights: -1"]),
    "not fitted": (make_pipeline(StandardScaler(), Ridge()), None, None, ["standardscaler: StandardScaler is not fitted", "ridge: Ridge has no counterpart, or is not fitted"]),
}


def predicted(model, rows, folder):
    """What `bochner predict` says of rows."""
    path = os.path.join(folder, "rows.csv")
    table = rows if hasattr(rows, "columns") else pd.DataFrame(rows, columns=["x%d" % j for j in range(rows.shape[1])])
    table.to_csv(path, index=False)
    out = subprocess.run([bochner, "-q", "predict", model, path], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit("sklearn: %s" % out.stderr)
    with open(os.path.join(folder, "predictions.csv"), "w", encoding="utf-8") as file:
        file.write(out.stdout)
    return pd.read_csv(os.path.join(folder, "predictions.csv"), keep_default_na=False, dtype={"prediction": str})


def numbers_said(pipeline, rows):
    """What scikit-learn says of rows in numbers: values, else probabilities, else scores."""
    if not hasattr(pipeline, "classes_"):
        return np.asarray(pipeline.predict(rows)).reshape(len(rows), -1)
    if hasattr(pipeline, "predict_proba"):
        return pipeline.predict_proba(rows)
    scores = pipeline.decision_function(rows)
    return scores.reshape(len(rows), -1)


def compare(name, case):
    pipeline, rows, targets, new, options = (*case, {})[:5]
    tolerance = dict(options).get("tolerance", TOLERANCE)
    options = {k: v for k, v in options.items() if k != "tolerance"}
    pipeline.fit(rows, targets)
    model = os.path.join(work, "model.bochner")
    bochner_sklearn.save(pipeline, model, rows, **options)
    said = predicted(model, new, work)
    if len(said) != len(new):
        sys.exit("sklearn: %s: %d predictions of %d rows" % (name, len(said), len(new)))
    worst = 0.0
    if hasattr(pipeline, "classes_"):
        wrong = int(np.sum(said["prediction"].to_numpy() != np.asarray(pipeline.predict(new)).astype(str)))
        if wrong:
            sys.exit("sklearn: %s: %d labels of %d differ" % (name, wrong, len(new)))
    columns = [c for c in said.columns if c.startswith(("probability", "decision"))] if hasattr(pipeline, "classes_") else [c for c in said.columns if c.startswith("prediction")]
    ours, theirs = said[columns].to_numpy(float), numbers_said(pipeline, new)
    if options:
        theirs = pipeline.decision_function(new).reshape(len(new), -1)
    if ours.shape != theirs.shape:
        sys.exit("sklearn: %s: %s numbers, wanted %s" % (name, ours.shape, theirs.shape))
    worst = np.max(np.abs(ours - theirs) / np.maximum(1, np.abs(theirs)))
    if not worst <= tolerance:
        sys.exit("sklearn: %s: a number is off by %.2g" % (name, worst))
    subprocess.run([bochner, "-q", "inspect", model], check=True, capture_output=True)
    return worst


def refused(name, pipeline, rows, targets, words):
    if rows is not None:
        pipeline.fit(rows, targets)
    try:
        bochner_sklearn.save(pipeline, os.path.join(work, "refused.bochner"), numbers if rows is None else rows)
    except bochner_sklearn.Refused as wrong:
        for word in words:
            if not any(word in p for p in wrong.problems):
                sys.exit("sklearn: %s: nothing says %r of\n%s" % (name, word, wrong))
        if len(wrong.problems) != len(words):
            sys.exit("sklearn: %s: %d complaints, wanted %d:\n%s" % (name, len(wrong.problems), len(words), wrong))
    else:
        sys.exit("sklearn: %s: it is written" % name)
    if os.path.exists(os.path.join(work, "refused.bochner")):
        sys.exit("sklearn: %s: half a file is left" % name)


def served():
    """A service in Go answers for the model that Python has fitted: rows by name, over HTTP, by a client that knows neither."""
    pipeline = CASES["adult, random features, logistic"][0]
    bochner_sklearn.save(pipeline, os.path.join(work, "served.bochner"), X, target="income")
    server = subprocess.Popen([bochner, "serve", os.path.join(work, "served.bochner"), "--addr", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    limit = threading.Timer(30, server.kill)
    limit.start()
    try:
        for line in server.stdout:
            if line.startswith("listening on "):
                address = line.split()[-1]
            if line.startswith("ready"):
                break
        else:
            sys.exit("sklearn: serve does not come up")
        rows = [{k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()} for row in holes.to_dict("records")]
        request = urllib.request.Request(address + "/v1/models/served:predict", json.dumps({"rows": rows}).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request) as answer:
                said = json.load(answer)["predictions"]
        except urllib.error.HTTPError as wrong:
            sys.exit("sklearn: serve: %s" % wrong.read())
    finally:
        limit.cancel()
        server.terminate()
        server.wait()
    if [p["class"] for p in said] != list(pipeline.predict(holes)):
        sys.exit("sklearn: serve: another label")
    off = max(abs(p["probabilities"][c] - v) for p, row in zip(said, pipeline.predict_proba(holes)) for c, v in zip(pipeline.classes_, row))
    if not off <= TOLERANCE:
        sys.exit("sklearn: serve: a probability is off by %.2g" % off)


def other_rows():
    """Rows that the pipeline was not fitted to are refused, and those that were are not needed."""
    pipeline = make_pipeline(StandardScaler(), Ridge()).fit(numbers, amounts)
    for rows, word in [(numbers[["age"]], "are not those that the pipeline was fitted to"), (np.zeros((3, 2)), "X has 2 columns, and the pipeline was fitted to 5"),
                       (pd.DataFrame(np.zeros((3, 5)), columns=list("aabcd")), "are not those")]:
        try:
            bochner_sklearn.save(pipeline, os.path.join(work, "refused.bochner"), rows)
            sys.exit("sklearn: %s: it is written" % word)
        except bochner_sklearn.Refused as wrong:
            if word not in str(wrong):
                sys.exit("sklearn: %r is not said in %s" % (word, wrong))
    with_rows, without = os.path.join(work, "with.bochner"), os.path.join(work, "without.bochner")
    bochner_sklearn.save(pipeline, with_rows, numbers, name="one")
    bochner_sklearn.save(pipeline, without, name="one")
    with open(with_rows, "rb") as a, open(without, "rb") as b:
        if a.read() != b.read():
            sys.exit("sklearn: with X the file is another one")


def keep():
    """A small model of adult with what scikit-learn says of some rows, for tests without Python."""
    folder = os.path.join(repository, "pipeline", "modelfile", "sklearn", "testdata")
    os.makedirs(folder, exist_ok=True)
    pipeline = Pipeline([("prepare", mixed(texts=onehot(drop="if_binary"))), ("maps", FeatureUnion([("rff", rff(20)), ("landmarks", Nystroem(gamma=0.02, n_components=8, random_state=0))])), ("model", LogisticRegression(C=10))]).fit(X, y)
    bochner_sklearn.save(pipeline, os.path.join(folder, "adult.bochner"), X, target="income")
    rows = holes[:60]
    rows.assign(income=unseen["income"][:60]).to_csv(os.path.join(folder, "rows.csv"), index=False)
    with open(os.path.join(folder, "predictions.json"), "w", encoding="utf-8") as file:
        json.dump({"labels": list(pipeline.predict(rows)), "probabilities": pipeline.predict_proba(rows).tolist()}, file)
        file.write("\n")


def evaluated():
    """The command of the module, evaluate, and a model that is not readable by halves."""
    import joblib

    pipeline = CASES["adult, random features, logistic"][0]
    joblib.dump(pipeline, os.path.join(work, "pipeline.joblib"))
    model = os.path.join(work, "command.bochner")
    out = subprocess.run([sys.executable, os.path.join(repository, "pipeline", "modelfile", "sklearn", "bochner_sklearn.py"), os.path.join(work, "pipeline.joblib"), "-o", model, "--target", "income", "--missing", "?"], capture_output=True, text=True)
    if out.returncode != 0 or "runs the code that is in it" not in out.stderr:
        sys.exit("sklearn: the command: %s" % out.stderr)
    unseen.to_csv(os.path.join(work, "truth.csv"), index=False, na_rep="?")
    out = subprocess.run([bochner, "-q", "--json", "evaluate", model, os.path.join(work, "truth.csv")], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit("sklearn: evaluate: %s" % out.stderr)
    got, want = json.loads(out.stdout)["scores"]["accuracy"], float(np.mean(pipeline.predict(whole) == unseen["income"]))
    if abs(got - want) > 1e-12:
        sys.exit("sklearn: evaluate says %r, scikit-learn %r" % (got, want))
    return want


if "--keep" in sys.argv:
    keep()
    sys.exit()
worst = 0.0
for name, case in CASES.items():
    off = compare(name, case)
    print("sklearn: %-62s %.1e" % (name, off))
    worst = max(worst, off if len(case) < 5 or "tolerance" not in case[4] else 0)
for name, case in REFUSED.items():
    refused(name, *case)
other_rows()
served()
accuracy = evaluated()
print("sklearn: %d pipelines predict here what they do there, to %.1e, on 1000 rows each; %d are refused; bochner serve answers for one of them; on adult both are right for %.1f %%" % (len(CASES), worst, len(REFUSED), 100 * accuracy))

"""Writes a fitted scikit-learn pipeline as a model file of Bochner.

    import bochner_sklearn
    pipeline.fit(X, y)                       # of scikit-learn, as always
    bochner_sklearn.save(pipeline, "model.bochner", X, target="income")

The file is one that `bochner predict`, `evaluate`, `inspect` and `serve` take, and so does a program in Go: nothing of
Python is needed any more, and nothing in the file is ever executed. Predictions are those of scikit-learn to rounding:
the same labels, and values and probabilities to 1e-9.

Of X, a data frame or an array, only the names and the kinds of the columns are read. It may be left out: a pipeline that
was fitted to a data frame knows its names.

What a model file cannot say is refused, all of it at once, by Refused: each complaint names the step, its parameter and
what could be done. As a command, for a pipeline that joblib or pickle has kept:

    python bochner_sklearn.py pipeline.joblib -o model.bochner --target income

That runs whatever code is in the pickle, here in Python. Load only what you trust.

It takes of scikit-learn

    steps    RBFSampler, Nystroem (rbf, laplacian), StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler,
             QuantileTransformer, SimpleImputer, OneHotEncoder, OrdinalEncoder, PCA, TruncatedSVD, all that select columns,
             ColumnTransformer, FeatureUnion, Pipeline, passthrough
    models   Ridge and other linear regressions, PoissonRegressor, GammaRegressor, TweedieRegressor, LinearSVR, SGDRegressor, KernelRidge (rbf, laplacian),
             SVR, NuSVR (rbf, linear, poly, sigmoid), TransformedTargetRegressor; LogisticRegression, LinearSVC, SVC, NuSVC
             (rbf, linear, poly, sigmoid), RidgeClassifier, SGDClassifier, Perceptron, LinearDiscriminantAnalysis
    around   GridSearchCV and others with a best_estimator_, of which that is taken

It needs numpy and scikit-learn, from 1.2 on. The form of the file is described in docs/coming-from-scikit-learn.md.
"""

import argparse
import csv
import hashlib
import io
import json
import math
import os
import re
import struct
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import sklearn

__all__ = ["Refused", "save"]

UNKNOWN = -1.0  # the code of a category that nobody knows
FORMAT = 1


class Refused(ValueError):
    """A pipeline that a model file cannot hold. problems is a list of what is in the way."""

    def __init__(self, problems):
        self.problems = list(problems)
        super().__init__("the pipeline cannot be written as a model file:\n  " + "\n  ".join(self.problems))


def save(model, path, X=None, *, target=None, name=None, missing=(), probabilities=True, metrics=None):
    """Writes a fitted pipeline, or a fitted model alone, to a file, whole or not at all.

    X: rows that it takes, for the names and kinds of the columns; None where it has been fitted to a data frame
    target: the name of what it predicts, or a list of names of several; evaluate looks for a column called so
    name: of the model, that of the file when left out
    missing: texts that stand for a missing value in files of rows, beside an empty field
    probabilities: False for a classifier whose labels alone are wanted, where its probabilities cannot be written
    metrics: scores to keep in the file, {"test.accuracy": 0.86}
    """
    made = _Export(model, X, target, missing, probabilities).made()
    made["name"] = name or os.path.splitext(os.path.basename(os.fspath(path)))[0]
    made["metrics"] = {key: float(value) for key, value in (metrics or {}).items()}
    _write(path, made)


# ---------------------------------------------------------------------------------------------------------------------
# What a model file is made of.


class _Column:
    """A column on its way through the steps: where it comes from, and its categories if it has some."""

    def __init__(self, name, origin=None, levels=None):
        self.name, self.origin, self.levels = name, origin, levels


class _Rows:
    """What comes out of a step."""

    def __init__(self, columns, sparse=False):
        self.columns, self.sparse = columns, sparse

    @property
    def width(self):
        return len(self.columns)


class _Step:
    """A fitted step or model as the file has it: the word of the spec with its parameters, the kind of what was fitted, and
    the scalars and arrays of its state, which may be below names of parts."""

    def __init__(self, word, spec, kind=None, width=0, dense=True, name=None, state=None):
        self.word, self.spec, self.kind = word, spec, kind or word
        self.width, self.dense, self.name = width, dense, name
        self.state = state or {}

    def put(self, archive, prefix):
        """Writes width, form, kind and state of a step below prefix."""
        archive.update({prefix + "width": self.width, prefix + "dense": self.dense, prefix + "single": False})
        self.put_part(archive, prefix)

    def put_part(self, archive, prefix):
        archive[prefix + "kind"] = self.kind
        for key, value in self.state.items():
            archive[prefix + self.kind + "/" + key] = value


def _chain(steps, columns):
    """The state of steps one after the other, to which so many columns come."""
    out = {"columns": columns, "steps": [s.name for s in steps]}
    for s in steps:
        s.put(out, s.name + "/")
    return out


def _report():
    return {"report/solver": "scikit-learn", "report/iterations": 0, "report/converged": True, "report/gradient": [0.0],
            "report/gap": [0.0], "report/objective": [0.0], "report/warnings": []}


def _named(steps):
    """Gives each step of a chain a name of its own."""
    taken = set()
    for s in steps:
        base = re.sub(r"[^A-Za-z0-9_-]+", "_", s.name or s.word).strip("_") or s.word
        s.name, k = base, 2
        while s.name in taken:
            s.name, k = base + str(k), k + 1
        taken.add(s.name)
    return steps


# ---------------------------------------------------------------------------------------------------------------------
# From scikit-learn's objects to steps.

_REGRESSIONS = {
    "Ridge", "RidgeCV", "LinearRegression", "Lasso", "LassoCV", "LassoLars", "LassoLarsCV", "ElasticNet", "ElasticNetCV", "Lars",
    "BayesianRidge", "ARDRegression", "HuberRegressor", "TheilSenRegressor", "QuantileRegressor", "SGDRegressor",
    "OrthogonalMatchingPursuit", "MultiTaskLasso", "MultiTaskElasticNet",
}
_GLM = {"PoissonRegressor": "poisson", "GammaRegressor": "gamma_regression", "TweedieRegressor": "tweedie"}
_CLASSIFIERS = {"RidgeClassifier", "RidgeClassifierCV", "LinearSVC", "SGDClassifier", "Perceptron", "PassiveAggressiveClassifier"}
_LOGISTIC = {"LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"}
_KERNELS = {"rbf": "gaussian", "laplacian": "laplacian"}
_SVM = {"SVC", "NuSVC", "SVR", "NuSVR"}


class _Export:
    def __init__(self, model, X, target, missing, probabilities):
        self.model, self.X = model, X
        self.target = [target] if isinstance(target, str) else list(target or [])
        self.missing = [str(text) for text in ([missing] if isinstance(missing, str) else missing)]
        self.probabilities = probabilities
        self.levels = {}  # categories of the columns that go into encoders, by their number
        self.used = set()  # numbers of the columns that any step looks at

    def made(self):
        """All that the file is to hold but its name. The steps are gone through twice: encoders tell what categories the columns
        have, and the steps before them have to know."""
        self.inputs()
        for self.again in (False, True):
            self.problems, self.notes = [], []
            self.steps, self.last = [], None
            rows = _Rows([_Column(n, j, self.levels.get(j)) for j, n in enumerate(self.names)])
            self.whole(self.model, rows, [])
            for j, numeric in enumerate(self.numbers):
                if j not in self.used and not numeric:
                    self.levels.setdefault(j, [])  # of a column that no step takes, whatever it holds
        if self.problems:
            raise Refused(dict.fromkeys(self.problems))
        for note in dict.fromkeys(self.notes):
            warnings.warn(note, stacklevel=4)
        return self.assembled(len(self.names))

    # The columns, the targets, the whole.

    def inputs(self):
        """Finds the names of the columns, and which are numbers as far as X tells."""
        names = getattr(self.X, "columns", None)
        if names is None:
            names = _attribute(self.model, "feature_names_in_")
        width, learned = _attribute(self.model, "n_features_in_"), _attribute(self.model, "feature_names_in_")
        if names is not None and learned is not None and list(map(str, names)) != list(map(str, learned)):
            raise Refused(["the columns of X are not those that the pipeline was fitted to, which are %s" % ", ".join(map(str, learned))])
        if self.X is not None:
            found = np.shape(self.X)[1]
            if width is not None and width != found:
                raise Refused(["X has %d columns, and the pipeline was fitted to %d" % (found, width)])
            width = found
        if width is None and names is not None:
            width = len(names)
        if width is None:
            raise Refused(["how many columns there are is not known: give X, rows that the pipeline takes; or it is not fitted"])
        self.given = names is not None
        self.names = [str(n) for n in names] if self.given else ["x%d" % j for j in range(width)]
        twice = sorted({n for n in self.names if self.names.count(n) > 1 or n == ""})
        if twice:
            raise Refused(["two columns are called %r, or one has no name" % twice[0]])
        self.numbers = [False] * width
        for j, kind in enumerate(getattr(self.X, "dtypes", [])):
            self.numbers[j] = getattr(kind, "kind", "O") in "iuf"
        if self.X is not None and not hasattr(self.X, "dtypes"):
            self.numbers = [np.asarray(self.X).dtype.kind in "iuf"] * width

    def assembled(self, width):
        named = self.given or bool(self.levels)
        columns = [_header_column(n, self.levels.get(j)) for j, n in enumerate(self.names)] if named else []
        archive = {"name": self.last.name, "precision": "float64"}
        for key, value in _chain(self.steps, width).items():
            archive["steps/" + key] = value
        _put_columns(archive, "input/columns/", columns)
        _put_columns(archive, "input/targets/", self.targets)
        self.last.put_part(archive, self.last.name + "/")
        head = {"task": "classification" if self.classes else "regression", "spec": _yaml([*self.steps, self.last]),
                "columns": columns, "targets": self.targets, "missing": self.missing,
                "versions": {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "python": sys.version.split()[0]}}
        if self.classes:
            head["classes"] = self.classes
        return {"head": head, "state": archive}

    def refuse(self, path, text):
        self.problems.append(".".join(path or ["the pipeline"]) + ": " + text)

    def note(self, path, text):
        self.notes.append(".".join(path or ["the pipeline"]) + ": " + text)

    def whole(self, model, rows, path):
        """Takes a pipeline with a model at its end, or a model alone."""
        if hasattr(model, "best_estimator_"):
            return self.whole(model.best_estimator_, rows, path)
        if hasattr(model, "steps") and hasattr(model, "named_steps"):
            *before, (name, last) = model.steps
            for own, one in before:
                steps, rows = self.step(one, rows, path + [own], own)
                self.steps += steps
            return self.whole(last, rows, path + [name])
        if type(model).__name__ == "TransformedTargetRegressor" and _is_own(model):
            return self.transformed_target(model, rows, path)
        _named(self.steps)
        self.targets, self.classes = [], None
        self.last = self.estimator(model, self.number(rows, path), path)
        self.last.name = self.last.word

    # Steps.

    def step(self, one, rows, path, name):
        """Returns the steps that one of scikit-learn's becomes, none for one that passes rows on, and what comes out."""
        if _passes(one):
            return [], rows
        if hasattr(one, "steps") and hasattr(one, "named_steps"):
            out = []
            for own, inner in one.steps:
                steps, rows = self.step(inner, rows, path + [own], own)
                out += steps
            return out, rows
        kind = type(one).__name__
        make = getattr(self, "step_" + kind, None)
        if make is None and hasattr(one, "get_support") and _is_own(one):
            make = self.selected
        if make is None or not _is_own(one):
            self.refuse(path, "%s has no counterpart%s" % (kind, _hint(one)))
            return [], rows
        takes = getattr(one, "n_features_in_", rows.width)
        if takes != rows.width:
            self.refuse(path, "it was fitted to %d columns, and %d come to it" % (takes, rows.width))
            return [], rows
        try:
            steps, rows = make(one, rows, path)
        except AttributeError as wrong:
            self.refuse(path, "%s is not fitted, or of another version of scikit-learn: %s" % (kind, wrong))
            return [], rows
        if steps and name != kind.lower():
            steps[-1].name = name  # one that scikit-learn's user has given
        return steps, rows

    def number(self, rows, path):
        """Looks whether all columns are numbers by now."""
        for c in rows.columns:
            if c.origin is not None:
                self.used.add(c.origin)
            if c.levels is not None:
                self.refuse(path, "column %s is one of categories for an encoder and one of numbers here; give the encoder a copy of it" % c.name)
        return rows

    def dense(self, rows, before):
        """Puts a step before one that moves zeros, where rows are sparse."""
        if not rows.sparse:
            return before
        return [_Step("dense", {}, width=rows.width, dense=False, state={"width": rows.width})] + before

    def step_SimpleImputer(self, one, rows, path):
        if not _is_missing(one.missing_values):
            self.refuse(path, "missing_values=%r: only NaN and None are missing here; replace the others before the pipeline" % (one.missing_values,))
            return [], rows
        fill = []
        for c, value in zip(rows.columns, one.statistics_):
            if c.origin is not None and c.levels is None and isinstance(value, str):
                self.used.add(c.origin)
                fill.append(0.0)
                if self.again:
                    self.refuse(path, "column %s holds texts, and no encoder takes it" % c.name)
            elif c.levels is not None:
                text = _text(value)
                fill.append(float(c.levels.index(text)) if text in c.levels else UNKNOWN)
            elif _is_missing(value):
                self.refuse(path, "column %s had no value in training, and is dropped by %s; leave it out" % (c.name, type(one).__name__))
            else:
                fill.append(float(value))
        indicated = [int(j) for j in one.indicator_.features_] if one.add_indicator else []
        strategy = one.strategy if isinstance(one.strategy, str) else "constant"
        spec = {"strategy": strategy, "indicator": bool(one.add_indicator)}
        if strategy == "constant" and rows.columns:
            spec["fill_value"] = _plain(one.statistics_[0])
        columns = rows.columns + [_Column(rows.columns[j].name + "_missing") for j in indicated]
        step = _Step("impute", spec, width=len(columns), state={"fill": fill, "indicators": np.array(indicated, dtype=np.int64), "level": ""})
        return self.dense(rows, [step]), _Rows(columns)

    def scaler(self, word, spec, rows, path, center, scale, low=0.0, high=0.0, clip=False):
        self.number(rows, path)
        center = np.zeros(rows.width) if center is None else self.floats(center, path)
        scale = np.ones(rows.width) if scale is None else self.floats(scale, path)
        if not np.all(np.isfinite(center)) or not np.all(np.isfinite(scale)) or np.any(scale == 0):
            self.refuse(path, "a column has no finite range, as one without a value has not; leave it out")
        state = {"step": word, "center": center, "scale": scale, "low": [float(low)], "high": [float(high)], "clip": bool(clip)}
        step = _Step(word, spec, kind="standardize", width=rows.width, state=state)
        return self.dense(rows, [step]), _Rows([_Column(c.name) for c in rows.columns])

    def step_StandardScaler(self, one, rows, path):
        spec = {"mean": bool(one.with_mean), "std": bool(one.with_std)}
        return self.scaler("standardize", spec, rows, path, one.mean_ if one.with_mean else None, one.scale_)

    def step_MinMaxScaler(self, one, rows, path):
        low, high = one.feature_range
        spec = {"low": float(low), "high": float(high), "clip": bool(one.clip)}
        return self.scaler("minmax", spec, rows, path, one.data_min_, 1 / self.floats(one.scale_, path), low, high, one.clip)

    def step_MaxAbsScaler(self, one, rows, path):
        if getattr(one, "clip", False):
            self.refuse(path, "clip=True: MaxAbsScaler has no counterpart that clips; MinMaxScaler has")
        return self.scaler("standardize", {"mean": False, "std": True}, rows, path, None, one.scale_)

    def step_RobustScaler(self, one, rows, path):
        spec = {"median": bool(one.with_centering), "iqr": bool(one.with_scaling)}
        return self.scaler("robust", spec, rows, path, one.center_, one.scale_)

    def step_QuantileTransformer(self, one, rows, path):
        self.number(rows, path)
        quantiles = self.floats(one.quantiles_, path)
        lengths, values, equal = [], [], []
        for j in range(rows.width):
            list_ = quantiles[:, j]
            if not np.all(np.isfinite(list_)):
                self.refuse(path, "column %s had no value in training; leave it out" % rows.columns[j].name)
                continue
            distinct, counts = np.unique(np.maximum.accumulate(list_), return_counts=True)
            if one.output_distribution == "normal" and len(distinct) > 1 and min(distinct[1] - distinct[0], distinct[-1] - distinct[-2]) < 1e-5:
                self.note(path, "column %s has values so near to each other that scikit-learn takes those within 1e-7 of the ends for the ends; here they are not" % rows.columns[j].name)
            lengths.append(len(distinct))
            values += distinct.tolist()
            equal += counts.tolist()
        count = quantiles.shape[0]
        if count > 65536:
            self.refuse(path, "n_quantiles=%d: at most 65536 are held" % count)
        spec = {"quantiles": max(2, count), "output": one.output_distribution}
        state = {"normal": one.output_distribution == "normal", "quantiles": count, "lengths": np.array(lengths, dtype=np.int64),
                 "values": values, "equal": np.array(equal, dtype=np.int64)}
        step = _Step("quantile", spec, width=rows.width, state=state)
        return self.dense(rows, [step]), _Rows([_Column(c.name) for c in rows.columns])

    def categories(self, column, list_, path):
        """The texts of an encoder's categories of a column, and whether a missing value is one, which is the last."""
        lost = [v for v in list_ if _is_missing(v)]
        texts = [_text(v) for v in list_ if not _is_missing(v)]
        if len(lost) > 1:
            self.refuse(path, "column %s has None and NaN as two categories; make one of them before the pipeline" % column.name)
        unfit = sorted({t for t in texts if t is None or t in {"", "nan", "NaN", *self.missing}}, key=str)
        if unfit:
            self.refuse(path, "column %s: the category %r is no text or number that a file of rows can hold beside missing values" % (column.name, unfit[0]))
        if len(set(texts)) != len(texts):
            self.refuse(path, "column %s: two categories are one text, %r, in a file of rows" % (column.name, next(t for t in texts if texts.count(t) > 1)))
        if column.origin is None:
            self.refuse(path, "column %s is made by a step before; only columns of the rows have categories" % column.name)
            return texts, bool(lost)
        self.used.add(column.origin)
        known = self.levels.setdefault(column.origin, [])
        known += [t for t in texts if t not in known]
        column.levels = known
        return texts, bool(lost)

    def step_OneHotEncoder(self, one, rows, path):
        if one.handle_unknown != "ignore":
            self.refuse(path, "handle_unknown=%r: a category that is not known is zeros here; set_params(handle_unknown=\"ignore\") on the fitted encoder says so in scikit-learn, too" % one.handle_unknown)
        if getattr(one, "_infrequent_enabled", False) and any(c is not None for c in one.infrequent_categories_):
            self.refuse(path, "min_frequency=%r, max_categories=%r: rare categories share a column there and have none here; fit without them, or put a step before that gives rare categories one name" % (one.min_frequency, one.max_categories))
            return [], rows
        levels, column, fill, out = [], [], [], []
        dropped = [None] * rows.width if one.drop_idx_ is None else list(one.drop_idx_)
        for j, c in enumerate(rows.columns):
            texts, lost = self.categories(c, one.categories_[j], path)
            kept = [t for k, t in enumerate(texts) if k != dropped[j]]
            codes = [c.levels.index(t) for t in kept] if c.levels is not None else []
            if codes != sorted(codes):
                self.refuse(path, "column %s has its categories in another order than in the encoder before; give both the same categories" % c.name)
            row = [-1] * len(c.levels or [])
            for t, code in zip(kept, codes):
                row[code] = len(out)
                out.append(_Column("%s=%s" % (c.name, t)))
            fill.append(UNKNOWN)
            if lost:
                fill[-1] = float(len(row))
                row.append(-1 if dropped[j] == len(texts) else len(out))
                if row[-1] >= 0:
                    out.append(_Column(c.name + "=missing"))
            levels.append(len(row))
            column += row
        if not out:
            self.refuse(path, "no category has a column")
        state = {"levels": np.array(levels, dtype=np.int64), "column": np.array(column, dtype=np.int64)}
        steps = [_Step("onehot", {"min_count": 1}, width=len(out), dense=False, state=state)]
        if any(f != UNKNOWN for f in fill):
            steps.insert(0, _missing_as_category(fill))
        return steps, _Rows(out, sparse=True)

    def step_OrdinalEncoder(self, one, rows, path):
        unknown = {"error": "error"}.get(one.handle_unknown)
        if one.handle_unknown == "use_encoded_value":
            unknown = "missing" if _is_missing(one.unknown_value) else "code" if one.unknown_value == -1 else None
        if unknown is None:
            self.refuse(path, "unknown_value=%r: an unknown category is -1 or NaN here" % (one.unknown_value,))
        if getattr(one, "_infrequent_enabled", False) and any(c is not None for c in one.infrequent_categories_):
            self.refuse(path, "min_frequency=%r, max_categories=%r: rare categories have numbers of their own here; fit without them" % (one.min_frequency, one.max_categories))
        losses = []
        for j, c in enumerate(rows.columns):
            texts, lost = self.categories(c, one.categories_[j], path)
            losses.append(lost)
            if c.levels is not None and texts != c.levels:
                self.refuse(path, "column %s has other categories, or another order of them, in another encoder; give both the same categories" % c.name)
        if len(set(losses)) > 1:
            self.refuse(path, "some columns have a missing value as a category and others have not; encode them in two encoders, or impute before")
        state = {"levels": np.array([len(c.levels or []) for c in rows.columns], dtype=np.int64), "unknown": unknown or "error"}
        steps = [_Step("ordinal", {"unknown": unknown or "error"}, width=rows.width, state=state)]
        if not any(losses):  # a missing value is as unknown as any other
            steps.insert(0, _missing_as_category([UNKNOWN] * rows.width))
        elif not _is_missing(one.encoded_missing_value):
            if unknown == "missing":
                self.refuse(path, "encoded_missing_value=%r beside unknown_value=NaN: both are missing here" % (one.encoded_missing_value,))
            value = float(one.encoded_missing_value)
            steps.append(_Step("impute", {"strategy": "constant", "fill_value": value}, width=rows.width,
                               state={"fill": [value] * rows.width, "indicators": np.zeros(0, dtype=np.int64), "level": ""}))
        return steps, _Rows([_Column(c.name) for c in rows.columns])

    def linear_map(self, rows, path, components, mean, variance, total, whiten, spec):
        self.number(rows, path)
        components, variance = self.floats(components, path), self.floats(variance, path)
        k = components.shape[0]
        if whiten and not np.all(variance > 0):
            self.refuse(path, "whiten=True, and a component does not vary; keep fewer components")
        if not np.all(np.isfinite(components)):
            self.refuse(path, "a component is not finite")
        state = {"mean": self.floats(mean, path), "components": np.ascontiguousarray(components.T), "variance": np.maximum(variance, 0.0),
                 "total": [float(total) if total > 0 else 1.0], "whiten": bool(whiten)}
        return [_Step("pca", spec, width=k, state=state)], _Rows([_Column("pca%d" % i) for i in range(k)])

    def step_PCA(self, one, rows, path):
        spec = {"components": int(one.components_.shape[0]), "whiten": bool(one.whiten)}
        ratio = np.sum(one.explained_variance_ratio_)
        total = np.sum(one.explained_variance_) / ratio if ratio > 0 else 1.0
        variance = one.explained_variance_
        if one.whiten:  # as scikit-learn has it, whose least deviation is that of rounding
            variance = np.maximum(variance, np.finfo(np.asarray(variance).dtype).eps ** 2)
        return self.linear_map(rows, path, one.components_, one.mean_, variance, total, one.whiten, spec)

    def step_TruncatedSVD(self, one, rows, path):
        spec = {"components": int(one.components_.shape[0])}
        return self.linear_map(rows, path, one.components_, np.zeros(rows.width), one.explained_variance_, np.sum(one.explained_variance_), False, spec)

    def step_RBFSampler(self, one, rows, path):
        self.number(rows, path)
        omega, phase = self.floats(one.random_weights_, path), self.floats(one.random_offset_, path)
        gamma = getattr(one, "_gamma", one.gamma)
        if isinstance(gamma, str) or not gamma > 0:
            gamma = 1.0
        spec = {"kernel": "gaussian", "gamma": float(gamma), "features": int(omega.shape[1]), "map": "phase"}
        state = {"kernel": "gaussian", "map": "phase", "nu": [1.5], "alpha": [1.0], "base": omega / math.sqrt(gamma),
                 "gamma": np.full(rows.width, float(gamma)), "phase": phase}
        return [_Step("rff", spec, width=omega.shape[1], state=state)], _Rows([_Column("rff%d" % k) for k in range(omega.shape[1])])

    def kernel(self, one, width, path):
        """The name of a kernel and γ, which scikit-learn has as 1 over the number of columns where none is given."""
        kernel = _KERNELS.get(one.kernel) if isinstance(one.kernel, str) else None
        if kernel is None or one.kernel_params:
            self.refuse(path, "kernel=%r: only rbf and laplacian have a counterpart" % (one.kernel,))
            return None, 1.0
        gamma = 1.0 / width if one.gamma is None else float(one.gamma)
        if not gamma > 0:
            self.refuse(path, "gamma=%r: wanted a number above 0" % (one.gamma,))
        return kernel, gamma

    def step_Nystroem(self, one, rows, path):
        self.number(rows, path)
        kernel, gamma = self.kernel(one, rows.width, path)
        if kernel is None:
            return [], rows
        m, root = one.components_.shape[0], self.floats(one.normalization_, path)
        if np.linalg.norm(root, 2) > 1e5:
            self.note(path, "its landmarks nearly depend on each other, and what is rounded in the kernel shows in the features a million times larger: predictions agree less, to about 1e-7; fewer landmarks, or a larger gamma, and it is less")
        # A step whose factor is the identity gives the kernel's values, and a linear map makes of them what scikit-learn does, by
        # the symmetric root of the landmarks' kernel matrix.
        state = {"kernel": kernel, "nu": [1.5], "alpha": [1.0], "gamma": np.full(rows.width, gamma), "sparse": False,
                 "landmarks": _array(one.components_), "factor": np.eye(m)[np.tril_indices(m)]}
        step = _Step("nystroem", {"kernel": kernel, "gamma": gamma, "landmarks": m}, width=m, state=state)
        mapped, out = self.linear_map(_Rows([_Column("nystroem%d" % k) for k in range(m)]), path, root, np.zeros(m), np.ones(m), float(m), False, {"components": m})
        return [step] + mapped, out

    def selected(self, one, rows, path):
        keep = [int(j) for j in np.flatnonzero(one.get_support())]
        if not keep:
            self.refuse(path, "no column is selected")
        return self.side_by_side("columns", [("selected", keep, [], _Rows([rows.columns[j] for j in keep]), 1.0)], rows, path)

    def step_ColumnTransformer(self, one, rows, path):
        where, parts = one._transformer_to_input_indices, []
        weights = one.transformer_weights or {}
        for name, inner, _ in one.transformers_:
            index = [int(j) for j in where.get(name, [])]
            if isinstance(inner, str) and inner == "drop" or not index:
                continue
            if len(set(index)) != len(index):
                self.refuse(path + [name], "a column is taken twice")
            steps, out = self.step(inner, _Rows([rows.columns[j] for j in index], rows.sparse), path + [name], "")
            group = "rest" if name == "remainder" else name  # no group of columns can be called remainder
            parts.append((group, index, steps, out, float(weights.get(name, 1))))
        return self.side_by_side("columns", parts, rows, path)

    def step_FeatureUnion(self, one, rows, path):
        parts, weights = [], one.transformer_weights or {}
        for name, inner in one.transformer_list:
            if isinstance(inner, str) and inner == "drop":
                continue
            steps, out = self.step(inner, _Rows(rows.columns, rows.sparse), path + [name], "")
            parts.append((name, None, steps, out, float(weights.get(name, 1))))
        return self.side_by_side("union", parts, rows, path)

    def side_by_side(self, word, parts, rows, path):
        """A step of parts, each a name, the columns it takes or None for all, its steps, what comes out, and a factor."""
        parts = [p for p in parts if p[3].width > 0]
        if not parts:
            self.refuse(path, "no columns come out")
            return [], rows
        columns = [c for p in parts for c in p[3].columns]
        known = sum(p[3].width for p in parts if not p[3].sparse)
        sparse = any(p[3].sparse for p in parts) and (known == 0 or len(columns) > 1024 and 4 * known < len(columns))
        state, members = {"columns": rows.width, "sparse": sparse, "parts": []}, []
        for name, index, steps, out, scale in parts:
            if not scale >= 0:
                self.refuse(path + [name], "transformer_weights: %r, wanted a number ≥ 0" % scale)
            if scale != 1 and any(c.levels is not None for c in out.columns):
                self.refuse(path + [name], "transformer_weights: a column of categories cannot be multiplied")
            chain = _Step("steps", _named(steps), width=out.width, dense=not out.sparse, name=name, state=_chain(steps, rows.width if index is None else len(index)))
            members.append((chain, index, scale))
        _named([m[0] for m in members])
        for chain, index, scale in members:
            prefix = chain.name + "/"
            state["parts"].append(chain.name)
            state.update({prefix + "all": index is None, prefix + "index": np.array(index or [], dtype=np.int64), prefix + "scale": [scale]})
            chain.put(state, prefix)
        spec = [(chain, None if index is None else [rows.columns[j].name for j in index], scale) for chain, index, scale in members]
        return [_Step(word, spec, width=len(columns), dense=not sparse, state=state)], _Rows(columns, sparse)

    # Models.

    def transformed_target(self, one, rows, path):
        kind, shift, scale = self.target_transform(one, path)
        self.whole(one.regressor_, rows, path + ["regressor"])
        if kind is None:
            return
        if self.classes:
            self.refuse(path, "regressor: a classifier has no targets to transform")
        within, count = self.last, len(self.targets)
        state = {"columns": self.width, "targets": count}
        for t, (b, a) in enumerate(zip(np.resize(shift, count), np.resize(scale, count))):
            at = "target%d/" % t
            state.update({at + "transform": kind, at + "shift": [float(b)], at + "scale": [float(a)]})
            state.update({at + key: [] for key in ("values", "ranks", "residuals", "shares")})
        within.put_part(state, "of/")
        self.last = _Step("target", {"transform": kind, "estimator": within}, name="target", state=state)

    def target_transform(self, one, path):
        """The kind of the transform of the targets, with shift and scale; None for none."""
        inner = one.transformer_
        kind = type(inner).__name__
        if kind == "StandardScaler":
            d = inner.n_features_in_
            return "standardize", inner.mean_ if inner.with_mean else np.zeros(d), inner.scale_ if inner.with_std else np.ones(d)
        if kind == "MinMaxScaler" and not inner.clip:
            return "standardize", -inner.min_ / inner.scale_, 1 / inner.scale_
        if kind == "RobustScaler":
            d = inner.n_features_in_
            return "standardize", inner.center_ if inner.with_centering else np.zeros(d), inner.scale_ if inner.with_scaling else np.ones(d)
        if kind == "FunctionTransformer":
            if inner.func is None and inner.inverse_func is None:
                return None, 0.0, 1.0
            if inner.func is np.log and inner.inverse_func is np.exp:
                return "log", 0.0, 1.0
            self.refuse(path, "func=%s, inverse_func=%s: only np.log with np.exp has a counterpart that is the same everywhere; for targets that may be 0 there is none, signed_log differs below 0" % (
                getattr(inner.func, "__name__", inner.func), getattr(inner.inverse_func, "__name__", inner.inverse_func)))
        else:
            self.refuse(path, "transformer=%s: StandardScaler, MinMaxScaler, RobustScaler, or func=np.log with inverse_func=np.exp have a counterpart" % kind)
        return None, 0.0, 1.0

    def estimator(self, one, rows, path):
        kind, self.width = type(one).__name__, rows.width
        if _passes(one) or one == "drop":
            self.refuse(path, "no model follows; a model file predicts")
        elif not _is_own(one):
            self.refuse(path, "%s is a class of its own; the last step has to be a model of scikit-learn" % kind)
        elif hasattr(one, "transform") and not hasattr(one, "predict"):
            self.refuse(path, "%s is a step, and no model follows; a model file predicts" % kind)
        elif not hasattr(one, "coef_") and not hasattr(one, "dual_coef_"):
            fitted = "" if hasattr(one, "n_features_in_") else ", or is not fitted"
            self.refuse(path, "%s has no counterpart%s%s" % (kind, fitted, _hint(one)))
        elif kind in _SVM:
            return self.kernel_machine(one, rows, path)
        elif kind in _REGRESSIONS or kind in _GLM or kind == "LinearSVR":
            return self.regression(one, rows, path)
        elif kind in _CLASSIFIERS | _LOGISTIC:
            return self.classifier(one, rows, path)
        elif kind == "KernelRidge":
            return self.kernel_ridge(one, rows, path)
        else:
            self.refuse(path, "%s has no counterpart%s" % (kind, _hint(one)))
        return _Step("ridge", {})

    def regression(self, one, rows, path):
        coef = self.floats(one.coef_, path).reshape(-1, rows.width)
        intercept = self.floats(np.resize(np.ravel(one.intercept_), coef.shape[0]), path)
        self.number_targets(coef.shape[0], path)
        spec, word, fitted, more = {}, "ridge", "ridge", {}
        if type(one).__name__ in _GLM:
            word, fitted, spec = _GLM[type(one).__name__], "poisson", {"alpha": float(one.alpha)}
            if word == "tweedie":
                spec["power"] = float(one.power)
                if one.link == "identity" or one.power < 1 or one.power > 2:
                    self.refuse(path, "a model file has TweedieRegressor with the link log and a power from 1 to 2 only")
        elif type(one).__name__ == "HuberRegressor":
            word, fitted, spec = "huber", "huber", {"epsilon": float(one.epsilon), "alpha": float(one.alpha)}
            more = {"scale": [float(one.scale_)]}
        elif type(one).__name__ == "QuantileRegressor":
            word, spec = "quantile_regression", {"quantile": float(one.quantile), "alpha": float(one.alpha)}
        elif type(one).__name__ in ("Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"):
            alpha = float(one.alpha_ if hasattr(one, "alpha_") else one.alpha)
            ratio = float(getattr(one, "l1_ratio_", getattr(one, "l1_ratio", 1)))
            if alpha > 0 and ratio > 0 and coef.shape[0] == 1:
                word, spec = ("lasso", {"alpha": alpha}) if ratio == 1 else ("elastic_net", {"alpha": alpha, "l1_ratio": ratio})
        elif type(one).__name__ == "LinearSVR":
            word, spec = "svr", {"C": float(one.C), "epsilon": float(one.epsilon), "loss": one.loss}
        elif type(one).__name__ == "Ridge" and np.ndim(one.alpha) == 0:
            spec = {"alpha": float(one.alpha)}
        elif type(one).__name__ == "RidgeCV" and np.ndim(one.alpha_) == 0:
            spec = {"alpha": float(one.alpha_)}
        elif type(one).__name__ == "LinearRegression":
            spec = {"alpha": 0.0}
        spec["intercept"] = bool(getattr(one, "fit_intercept", True))
        self.finite(path, coef, intercept)
        return _Step(word, spec, kind=fitted, state={"coef": coef, "intercept": intercept, **_report(), **more})

    def number_targets(self, count, path):
        names = self.target or (["target"] if count == 1 else ["target%d" % t for t in range(count)])
        if len(names) != count:
            self.refuse(path, "target: %d names for %d targets" % (len(names), count))
        self.targets = [_header_column(n, None) for n in names]

    def class_target(self, one, path):
        """Takes the classes of a classifier and its target, and returns how many classes there are, 0 for several labels."""
        classes = np.asarray(one.classes_) if not isinstance(one.classes_, list) else None
        if classes is None or classes.ndim != 1 or len(classes) < 2:
            self.refuse(path, "a row has several labels, or all have the same; there has to be one of two classes or more")
            return 0
        self.classes = [_text(c) for c in classes]
        if None in self.classes or "" in self.classes or len(set(self.classes)) != len(self.classes):
            self.refuse(path, "classes %s: they have to be texts or numbers, and different as texts" % list(classes))
        names = self.target or ["target"]
        if len(names) != 1:
            self.refuse(path, "target: %d names for one target" % len(names))
        self.targets = [_header_column(names[0], self.classes)]
        return len(classes)

    def classifier(self, one, rows, path):
        kind, classes = type(one).__name__, self.class_target(one, path)
        if not classes:
            return _Step("ridge_classifier", {})
        k = 1 if classes == 2 else classes
        coef = np.atleast_2d(self.floats(one.coef_, path))
        if coef.shape != (k, rows.width):
            self.refuse(path, "coef_ is %s for %d classes and %d columns: several labels for a row have no counterpart" % (coef.shape, classes, rows.width))
        intercept = self.floats(np.resize(np.ravel(one.intercept_), k), path)
        self.finite(path, coef, intercept)
        state = {"coef": coef, "intercept": intercept, **_report(), "classes": self.classes}
        spec = {"intercept": bool(getattr(one, "fit_intercept", True))}
        if self.probabilities and self.tells(one, classes, path):
            C = getattr(one, "C", None)
            if isinstance(C, (int, float)) and 0 < C < math.inf:
                spec["C"] = float(C)
            penalty = getattr(one, "penalty", None)
            ratio = 1 if penalty == "l1" else getattr(one, "l1_ratio", None) if penalty in ("elasticnet", "deprecated") else None
            if "C" in spec and isinstance(ratio, (int, float)) and ratio > 0:
                spec["l1_ratio"] = float(ratio)
            return _Step("logistic", spec, state=state)
        word = "ridge_classifier"
        if kind == "LinearSVC":
            word, spec["C"], spec["loss"] = "svm", float(one.C), one.loss
        elif kind == "RidgeClassifier":
            spec["alpha"] = float(one.alpha)
        return _Step(word, spec, kind="ridge_classifier", state=state)

    def tells(self, one, classes, path):
        """Whether a classifier knows probabilities: those of the logistic function, or the softmax of more than two scores."""
        kind = type(one).__name__
        way = getattr(one, "multi_class", "deprecated")
        if kind in ("LogisticRegression", "LogisticRegressionCV"):
            if classes > 2 and (way == "ovr" or one.solver == "liblinear") or classes == 2 and way == "multinomial":
                self.refuse(path, "multi_class=%r, solver=%r: probabilities of more than two classes are the softmax of their scores here, and of two the logistic function; fit with solver=\"lbfgs\", or save with probabilities=False for the labels alone" % (way, one.solver))
            return True
        if kind == "SGDClassifier" and one.loss in ("log_loss", "log", "modified_huber"):
            if classes > 2 or one.loss == "modified_huber":
                self.refuse(path, "loss=%r with %d classes: its probabilities have no counterpart; save with probabilities=False for the labels alone" % (one.loss, classes))
            return True
        return kind in _LOGISTIC

    def kernel_ridge(self, one, rows, path):
        kernel, gamma = self.kernel(one, rows.width, path)
        dual = self.floats(one.dual_coef_, path).reshape(one.dual_coef_.shape[0], -1)
        self.number_targets(dual.shape[1], path)
        spec = {"kernel": kernel or "gaussian", "gamma": gamma, "intercept": False}
        if np.ndim(one.alpha) == 0:
            spec["alpha"] = float(one.alpha)
        fitted = _array(one.X_fit_)
        self.finite(path, dual, fitted)
        state = {"kernel": kernel or "gaussian", "gamma": np.full(rows.width, gamma), "nu": [1.5], "shape": [1.0], "sparse": False,
                 "rows": fitted, "dual": dual, "intercept": np.zeros(dual.shape[1]), **_report()}
        return _Step("kernel_ridge", spec, state=state)

    def kernel_machine(self, one, rows, path):
        """SVC, NuSVC, SVR and NuSVR: sums of kernels at support vectors, one for each pair of classes."""
        kind, name = type(one).__name__, one.kernel
        kernel = {"rbf": "gaussian", "linear": "polynomial", "poly": "polynomial", "sigmoid": "sigmoid"}.get(name) if isinstance(name, str) else None
        if kernel is None:
            self.refuse(path, "kernel=%r: rbf, linear, poly and sigmoid have a counterpart; a model file holds rows and no matrix or function of them" % (name,))
            return _Step("kernel_svr", {})
        gamma = 1.0 if name == "linear" else float(one._gamma)
        coef0 = 0.0 if name == "linear" else float(one.coef0)
        degree = 1 if name == "linear" else int(one.degree)
        if not gamma > 0:
            self.refuse(path, "gamma=%r: wanted a number above 0" % (one.gamma,))
        if kernel == "polynomial" and (not 1 <= degree <= 64 or coef0 < 0):
            self.refuse(path, "degree=%d, coef0=%r: a degree from 1 to 64 and a coef0 of at least 0 have a counterpart" % (degree, coef0))
        spec, shape = {"kernel": kernel, "gamma": gamma}, {}
        if kernel != "gaussian":
            shape["coef0"] = coef0
        if kernel == "polynomial":
            shape["degree"] = degree
        spec.update(shape)
        for own in ("C", "epsilon"):
            if own in one.get_params() and float(getattr(one, own)) > 0:
                spec[own] = float(getattr(one, own))
        dual, intercept, support = self.floats(one.dual_coef_, path), self.floats(one.intercept_, path), _array(one.support_vectors_)
        word = fitted = "kernel_svr"
        more = {}
        if kind in ("SVC", "NuSVC"):
            k, word, fitted = self.class_target(one, path), "kernel_svm", "kernel_svm"
            if not k:
                return _Step("kernel_svm", {})
            more["classes"] = self.classes
            slope, offset = (self.floats(a, path) if self.probabilities else np.zeros(0) for a in (one._probA, one._probB))
            if k > 2 or len(slope):
                fitted = "kernel_svm_pairwise"
                more.update({"break_ties": bool(one.break_ties), "slope": slope, "offset": offset})
            if k > 2:
                dual, intercept = self.pairs(one, dual, k), -intercept
                if one.decision_function_shape == "ovo":
                    self.note(path, "decision_function_shape='ovo': labels and probabilities are the same, and the scores of a row are those of 'ovr', one for each class")
        else:
            self.number_targets(1, path)
        if not len(support):  # a constant
            support, dual = np.zeros((1, rows.width)), np.zeros((dual.shape[0], 1))
        self.finite(path, dual, intercept, support)
        state = {"kernel": kernel, "gamma": np.full(rows.width, gamma), "nu": [1.5], "shape": [1.0], "sparse": False, "rows": support,
                 "dual": np.ascontiguousarray(dual.T), "intercept": intercept, **_report(), **more}
        for key, value in shape.items():
            state[key] = [value] if isinstance(value, float) else value
        return _Step(word, spec, kind=fitted, state=state)

    def pairs(self, one, dual, k):
        """The dual weights of each pair of classes, positive for the second, from LIBSVM's: of a row of one class those against
        the other classes in their order."""
        ends = np.concatenate([[0], np.cumsum(one.n_support_)])
        rows = [slice(ends[i], ends[i + 1]) for i in range(k)]
        out = np.zeros((k * (k - 1) // 2, dual.shape[1]))
        for pair, (i, j) in zip(out, ((i, j) for i in range(k) for j in range(i + 1, k))):
            pair[rows[i]], pair[rows[j]] = -dual[j - 1, rows[i]], -dual[i, rows[j]]
        return out

    # Numbers.

    def floats(self, numbers, path):
        out = _array(numbers)
        if np.asarray(numbers).dtype == np.float32:
            self.note(path, "it was fitted in single precision: predictions agree to that, about 1e-6")
        return out

    def finite(self, path, *arrays):
        if not all(np.all(np.isfinite(a)) for a in arrays):
            self.refuse(path, "a coefficient is not a finite number")


def _attribute(model, name):
    """An attribute of what was fitted, wherever in it that is."""
    for one in (model, getattr(model, "best_estimator_", None), getattr(model, "regressor_", None)):
        if one is not None and getattr(one, name, None) is not None:
            return getattr(one, name)
    inner = getattr(model, "best_estimator_", None) or getattr(model, "regressor_", None)
    return _attribute(inner, name) if inner is not None else None


def _is_own(one):
    """Whether a class is one of scikit-learn's, and not one made of it, which may do otherwise."""
    return type(one).__module__.split(".")[0] == "sklearn"


def _passes(one):
    """Whether a step passes rows on as they are."""
    if one is None or isinstance(one, str):
        return one is None or one == "passthrough"
    return type(one).__name__ == "FunctionTransformer" and _is_own(one) and one.func is None


def _hint(one):
    name = type(one).__name__
    if name in ("GaussianProcessRegressor", "GaussianProcessClassifier"):
        return "; RBFSampler or Nystroem before a linear model comes near to it"
    if name == "CalibratedClassifierCV":
        return "; save the classifier in it, or calibrate here: the step `calibrated`"
    if name == "FunctionTransformer":
        return " for func=%s: do before the pipeline what it does" % getattr(one.func, "__name__", one.func)
    if hasattr(one, "transform"):
        return "; do before the pipeline what it does, or leave it out"
    return "; the models that have are listed in the module's description"


def _is_missing(value):
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and math.isnan(value)


def _text(value):
    """A category as a file of rows holds it, None for what it cannot hold."""
    if isinstance(value, str):
        return str(value).strip()
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        value = float(value)
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return None


def _plain(value):
    return value if isinstance(value, str) else float(value)


def _missing_as_category(fill):
    """A step that puts a code in where a value is missing."""
    level = "missing" if any(f != UNKNOWN for f in fill) else ""
    return _Step("impute", {"strategy": "constant", "fill_value": "missing"}, width=len(fill),
                 state={"fill": fill, "indicators": np.zeros(0, dtype=np.int64), "level": level})


def _array(numbers):
    """Numbers in double precision, row by row."""
    if hasattr(numbers, "toarray"):
        numbers = numbers.toarray()
    return np.ascontiguousarray(np.asarray(numbers), dtype=np.float64)


# ---------------------------------------------------------------------------------------------------------------------
# The file.


def _header_column(name, levels):
    out = {"name": name, "kind": "numeric" if levels is None else "categorical"}
    if levels:
        out["levels"] = list(levels)
    return out


def _put_columns(archive, prefix, columns):
    archive[prefix + "names"] = [c["name"] for c in columns]
    archive[prefix + "levels"] = np.array([-1 if c["kind"] == "numeric" else len(c.get("levels", [])) for c in columns], dtype=np.int64)
    archive[prefix + "level_names"] = [level for c in columns for level in c.get("levels", [])]


def _flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join("%s: %s" % (k, _flow(v)) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(v) for v in value) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return "%.1f" % value
    return json.dumps(value, ensure_ascii=False)


def _yaml(steps):
    """The steps as the spec has them, a list in YAML."""
    return "\n".join(line for s in steps for line in _item(_lines(s))) + "\n"


def _item(lines):
    return ["- " + lines[0]] + _deeper(lines[1:])


def _deeper(lines):
    return ["  " + line for line in lines]


def _lines(step):
    """A step, a line at a time: its word with its parameters, and its name where that is another one."""
    if step.word in ("columns", "union"):
        lines = [line for chain, select, _ in step.spec for line in _item(_member(chain, select))]
        if step.word == "union":
            weights = [scale * scale for _, _, scale in step.spec]
            lines = ["parts:"] + _deeper(lines) + (["weights: " + _flow(weights)] if set(weights) != {1.0} else [])
        lines = [step.word + ":"] + _deeper(lines)
    elif step.word == "target":
        within = step.spec["estimator"]
        lines = ["target:", "  transform: " + step.spec["transform"], "  estimator: {%s: %s}" % (within.word, _flow(within.spec))]
    else:
        lines = ["%s: %s" % (step.word, _flow(step.spec))]
    return lines + (["name: " + json.dumps(step.name)] if step.name != step.word else [])


def _member(chain, select):
    """A group of columns, or a part of a union, which selects none."""
    inner = [line for s in chain.spec for line in _item(_lines(s))]
    steps = ["steps:"] + _deeper(inner) if inner else ["steps: []"]
    name = "name: " + json.dumps(chain.name)
    return steps + [name] if select is None else [name, "select: " + _flow(select)] + steps


def _npy(array):
    """The bytes of a .npy file, version 1.0, with the header that Bochner expects to the letter."""
    kind = {"f": "<f8", "i": "<i8", "u": "<u4"}[array.dtype.kind]
    shape = "(%s)" % (", ".join(map(str, array.shape)) + ("," if array.ndim == 1 else ""))
    text = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
    text += " " * (-(10 + len(text) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("ascii") + array.astype(kind).tobytes()


def _write(path, made):
    """Writes the zip with the hash of what is before its end as its comment, under a name of its own first."""
    scalars, arrays = {}, {}
    for key, value in made["state"].items():
        if isinstance(value, np.ndarray) or isinstance(value, list) and (not value or not isinstance(value[0], str)) and not _texts(key):
            arrays[key] = np.asarray(value, dtype=None if isinstance(value, np.ndarray) else np.float64)
        elif isinstance(value, (np.bool_, np.integer)):
            scalars[key] = value.item()
        else:
            scalars[key] = value
    index = {"format": FORMAT, "name": made["name"], **made["head"], "metrics": made["metrics"], "state": dict(sorted(scalars.items())),
             "arrays": [{"name": k, "type": {"f": "<f8", "i": "<i8", "u": "<u4"}[a.dtype.kind], "shape": list(a.shape)} for k, a in sorted(arrays.items())]}
    text = json.dumps(index, ensure_ascii=False, indent=1, allow_nan=False).encode("utf-8")
    path = os.path.abspath(os.fspath(path))
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix="." + os.path.basename(path) + ".")
    try:
        with os.fdopen(handle, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as z:
                z.writestr(zipfile.ZipInfo("model.json"), text)
                for key, array in sorted(arrays.items()):
                    z.writestr(zipfile.ZipInfo(key + ".npy"), _npy(array))
                z.comment = b"sha256:" + b"0" * 64
            _seal(file)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _texts(key):
    """Whether a list of a state is one of texts, which is so even where it is empty."""
    return key.rsplit("/", 1)[-1] in ("steps", "parts", "names", "level_names", "classes", "warnings")


def _seal(file):
    file.flush()
    end = file.seek(0, io.SEEK_END) - 71
    file.seek(0)
    hash_ = hashlib.sha256()
    while end > 0:
        block = file.read(min(end, 1 << 20))
        hash_.update(block)
        end -= len(block)
    file.write(b"sha256:" + hash_.hexdigest().encode("ascii"))


def main(arguments=None):
    """The command."""
    parser = argparse.ArgumentParser(description="Writes a fitted scikit-learn pipeline, kept by joblib or pickle, as a model file of Bochner.",
                                     epilog="joblib and pickle run whatever code is in the file that they load: load only what you trust.")
    parser.add_argument("pipeline", help="file of joblib.dump or pickle.dump")
    parser.add_argument("-o", "--out", default="model.bochner", help="model file to write")
    parser.add_argument("--rows", help="CSV file whose first line names the columns, for a pipeline that was fitted to an array")
    parser.add_argument("--target", action="append", help="name of what is predicted; again for each of several")
    parser.add_argument("--name", help="of the model")
    parser.add_argument("--missing", action="append", default=[], help="text that stands for a missing value in files of rows; again for each of several")
    parser.add_argument("--labels-only", action="store_true", help="leave out the probabilities of a classifier")
    given = parser.parse_args(arguments)
    print("bochner_sklearn: warning: loading %s runs the code that is in it; the model file has none" % given.pipeline, file=sys.stderr)
    import joblib

    model, X = joblib.load(given.pipeline), None
    if given.rows:
        with open(given.rows, newline="", encoding="utf-8") as file:
            names = [n for n in next(csv.reader(file)) if n not in (given.target or [])]
        X = _Names(names)
    try:
        save(model, given.out, X, target=given.target, name=given.name, missing=given.missing, probabilities=not given.labels_only)
    except Refused as wrong:
        sys.exit("bochner_sklearn: %s" % wrong)


class _Names:
    """Rows of which only the names of the columns are known."""

    def __init__(self, names):
        self.columns, self.shape, self.dtypes = names, (0, len(names)), []


if __name__ == "__main__":
    main()

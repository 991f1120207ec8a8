"""The peers of examples/tables, which calls this:

    python peers.py versions                    a JSON object: what is installed
    python peers.py METHOD FOLDER OUT.csv       learns from train.csv of the folder as job.json asks,
                                                writes a prediction for each row of test.csv and prints
                                                a JSON object: seconds of fit and predict, bytes of the model
"""

import importlib.metadata
import json
import math
import os
import pickle
import sys
import time

STARTED = time.monotonic()


class Job:
    """The rows of a folder, and what is to be done with them."""

    def __init__(self, folder):
        import pandas

        with open(os.path.join(folder, "job.json")) as f:
            self.__dict__.update(json.load(f))
        self.folder = folder
        texts = {name: str for name in self.categorical + self.text}
        if self.task == "classification":
            texts[self.target] = str

        def read(name):
            return pandas.read_csv(os.path.join(folder, name), dtype=texts, keep_default_na=False, na_values=[""])

        train, test = read("train.csv"), read("test.csv")
        self.y = train.pop(self.target).to_numpy()
        test.pop(self.target)  # the score is for the caller
        self.numeric = [c for c in train.columns if c not in self.categorical + self.text]
        for part in (train, test):
            part[self.text] = part[self.text].fillna("")
        self.X, self.X_test = train, test
        self.classify = self.task == "classification"

    def topics(self, name):
        """Both parts of a text column as at most 100 numbers: the leading singular vectors of tf-idf."""
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline

        change = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), TruncatedSVD(100, random_state=self.seed))
        return change.fit_transform(self.X[name]), change.transform(self.X_test[name])

    def answer(self, model, X_test, classes=None):
        """Predictions, and probabilities of the positive class where the score ranks by them. The model predicts the
        codes of the classes where these are given."""
        start = time.monotonic()
        found = model.predict(X_test)
        if classes is not None:
            found = classes[found.astype(int)]
        if self.score == "roc_auc" and hasattr(model, "predict_proba"):
            at = list(model.classes_ if classes is None else classes).index(self.positive)
            found = found, model.predict_proba(X_test)[:, at]
        elif self.score == "roc_auc":
            found = found, model.decision_function(X_test) * (1 if model.classes_[1] == self.positive else -1)
        self.note(start, lambda: len(pickle.dumps(model)))
        return found

    def note(self, start, size):
        """Notes the seconds of the fit and of the predictions, which began at start, and the size of the model."""
        end = time.monotonic()
        self.notes = {"fit": start - STARTED, "predict": end - start, "bytes": size()}

    def as_category(self):
        """Both parts with columns of pandas' type category."""
        import pandas

        X, X_test = self.X.copy(), self.X_test.copy()
        for c in self.categorical:
            known = pandas.CategoricalDtype(sorted(X[c].dropna().unique()))
            X[c], X_test[c] = X[c].astype(known), X_test[c].astype(known)
        for c in self.text:
            for part, numbers in zip((X, X_test), self.topics(c)):
                part.drop(columns=c, inplace=True)
                part[["%s %d" % (c, k) for k in range(numbers.shape[1])]] = numbers
        return X, X_test

    def as_numbers(self, scale):
        """Both parts as arrays: medians for what is missing, a column for each category."""
        import numpy as np
        from sklearn.compose import make_column_transformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        steps = [SimpleImputer(strategy="median")] + ([StandardScaler()] if scale else [])
        change = make_column_transformer(
            (make_pipeline(*steps), self.numeric),
            (OneHotEncoder(handle_unknown="ignore", sparse_output=False), self.categorical),
        )
        X, X_test = change.fit_transform(self.X), change.transform(self.X_test)
        for c in self.text:
            X, X_test = (np.hstack(pair) for pair in zip((X, X_test), self.topics(c)))
        return X, X_test

    def codes(self):
        """Classes and targets by number: some packages code the classes they learn, but not those they stop early by."""
        import numpy

        return numpy.unique(self.y, return_inverse=True) if self.classify else (None, self.y)

    def sample(self, most):
        """Numbers of at most so many rows, drawn by the seed."""
        import numpy

        return numpy.random.default_rng(self.seed).permutation(len(self.y))[:most]


def autogluon(job, presets="medium_quality"):
    import shutil

    from autogluon.tabular import TabularPredictor

    models = os.path.join(job.folder, "autogluon")
    shutil.rmtree(models, ignore_errors=True)
    rows = job.X.assign(**{job.target: job.y})
    kind = "regression" if not job.classify else "binary" if len(set(job.y)) == 2 else "multiclass"
    model = TabularPredictor(job.target, kind, job.score, models,
                             verbosity=0, positive_class=job.positive if kind == "binary" else None)
    model.fit(rows, time_limit=60 * job.minutes, presets=presets, num_cpus=job.threads)
    start = time.monotonic()
    found = model.predict(job.X_test).to_numpy()
    if job.score == "roc_auc":
        found = found, model.predict_proba(job.X_test)[job.positive].to_numpy()
    job.note(start, model.disk_usage)
    return found


def autogluon_best(job):
    return autogluon(job, "best_quality")


def flaml(job, models="auto"):
    from flaml import AutoML

    X, X_test = job.as_category()
    model = AutoML()
    model.fit(X, job.y, task=job.task, metric={"f1": "macro_f1"}.get(job.score, job.score), time_budget=60 * job.minutes,
              n_jobs=job.threads, seed=job.seed, verbose=0, estimator_list=models)
    return job.answer(model, X_test)


def catboost_tuned(job):
    return flaml(job, ["catboost"])


def catboost(job):
    from catboost import CatBoostClassifier, CatBoostRegressor

    X, X_test = job.X.copy(), job.X_test.copy()
    for part in (X, X_test):
        part[job.categorical] = part[job.categorical].fillna("missing")
    kind = CatBoostClassifier if job.classify else CatBoostRegressor
    model = kind(cat_features=job.categorical, text_features=job.text or None, thread_count=job.threads,
                 random_seed=job.seed, allow_writing_files=False, verbose=False)
    found = job.answer(model.fit(X, job.y), X_test)
    return found if isinstance(found, tuple) else found.ravel()


def xgboost(job):
    from xgboost import XGBClassifier, XGBRegressor

    X, X_test = job.as_category()
    classes, codes = job.codes()
    kind = XGBClassifier if job.classify else XGBRegressor
    model = kind(enable_categorical=True, n_jobs=job.threads, random_state=job.seed).fit(X, codes)
    return job.answer(model, X_test, classes)


def linear(job):
    import numpy as np
    from sklearn.compose import make_column_transformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegressionCV, RidgeCV
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    words = [(make_union(TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)),
                         TfidfVectorizer(sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5), min_df=2)), c) for c in job.text]
    change = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), job.numeric),
        (OneHotEncoder(handle_unknown="ignore"), job.categorical), *words)
    if job.classify:
        scoring = None if job.score == "f1" else job.score
        last = LogisticRegressionCV(Cs=np.geomspace(0.01, 100, 5), cv=3, scoring=scoring, max_iter=500, n_jobs=job.threads)
    else:
        last = RidgeCV(np.geomspace(1e-3, 1e3, 13))
    return job.answer(make_pipeline(change, last).fit(job.X, job.y), job.X_test)


def histgb(job):
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    X, X_test = job.as_category()
    kind = HistGradientBoostingClassifier if job.classify else HistGradientBoostingRegressor
    return job.answer(kind(categorical_features=job.categorical or None, random_state=job.seed).fit(X, job.y), X_test)


def extratrees(job):
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    X, X_test = job.as_numbers(scale=False)
    kind = ExtraTreesClassifier if job.classify else ExtraTreesRegressor
    return job.answer(kind(500, n_jobs=job.threads, random_state=job.seed).fit(X, job.y), X_test)


def svm(job):
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    X, X_test = job.as_numbers(scale=True)
    grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": [v / X.shape[1] for v in (0.03, 0.1, 0.3, 1, 3)]}
    if job.classify:
        model, folds = SVC(cache_size=1000), StratifiedKFold
    else:
        model, folds = TransformedTargetRegressor(SVR(cache_size=1000), transformer=StandardScaler()), KFold
        grid = {"regressor__" + name: values for name, values in grid.items()}
        grid["regressor__epsilon"] = [0.01, 0.1]
    few, many = job.sample(4000), job.sample(20000)
    search = GridSearchCV(model, grid, cv=folds(3, shuffle=True, random_state=job.seed), n_jobs=job.threads, refit=False)
    search.fit(X[few], job.y[few])
    model.set_params(**search.best_params_).fit(X[many], job.y[many])
    return job.answer(model, X_test)


class Boosting:
    """A random search over LightGBM's parameters, by cross-validation, in most of the time. The last fit takes
    what it takes, even where that is too long."""

    SEARCH = 0.75  # of the time

    def __init__(self, job):
        import numpy

        self.job, self.rng = job, numpy.random.default_rng(job.seed)
        self.classes, job.y = job.codes()
        self.until = STARTED + self.SEARCH * 60 * job.minutes
        self.X, self.X_test = job.as_category()
        self.best = (math.inf, {}, 100)  # loss, parameters, trees

    def draw(self):
        r = self.rng
        return dict(
            num_leaves=int(2 ** r.uniform(3, 8)), learning_rate=10 ** r.uniform(-2, -0.5),
            min_child_samples=int(2 ** r.uniform(1, 7)), colsample_bytree=r.uniform(0.4, 1),
            subsample=r.uniform(0.5, 1), subsample_freq=1, reg_lambda=10 ** r.uniform(-3, 1),
        )

    def model(self, trees, params):
        from lightgbm import LGBMClassifier, LGBMRegressor

        kind = LGBMClassifier if self.job.classify else LGBMRegressor
        return kind(n_estimators=trees, n_jobs=self.job.threads, random_state=self.job.seed, verbose=-1, **params)

    def folds(self):
        from sklearn.model_selection import KFold, StratifiedKFold

        kind = StratifiedKFold if self.job.classify else KFold
        all_folds = list(kind(5, shuffle=True, random_state=self.job.seed).split(self.X, self.job.y))
        return all_folds if len(self.job.y) <= 10000 else all_folds[:1]

    def in_time(self):
        """A callback that ends a fit when the time of the search is up, with the trees that did best so far."""
        from lightgbm.callback import EarlyStopException

        best = math.inf, 0  # loss, iteration

        def check(env):
            nonlocal best
            _, _, loss, *_ = env.evaluation_result_list[0]
            best = min(best, (loss, env.iteration))
            if time.monotonic() > self.until:
                raise EarlyStopException(best[1], env.evaluation_result_list)

        check.order = 99
        return check

    def loss(self, model, X, y):
        from sklearn.metrics import accuracy_score, f1_score, mean_squared_error, roc_auc_score

        if self.job.score == "roc_auc":
            return 1 - roc_auc_score(y, model.predict_proba(X)[:, 1])
        if self.job.score == "f1":
            return 1 - f1_score(y, model.predict(X), pos_label=list(self.classes).index(self.job.positive))
        return 1 - accuracy_score(y, model.predict(X)) if self.job.classify else mean_squared_error(y, model.predict(X))

    def score(self, params, folds):
        """The mean loss over the folds and the mean number of trees, or None where time is up."""
        from lightgbm import early_stopping

        losses, trees = [], []
        for train, test in folds:
            if losses and time.monotonic() > self.until:
                return None
            model = self.model(5000, params)
            held_X, held_y = self.X.iloc[test], self.job.y[test]
            model.fit(self.X.iloc[train], self.job.y[train], eval_X=held_X, eval_y=held_y,
                      callbacks=[early_stopping(50, verbose=False), self.in_time()])
            losses.append(self.loss(model, held_X, held_y))
            trees.append(model.best_iteration_ or 1)
        return sum(losses) / len(losses), max(1, round(sum(trees) / len(trees)))

    def predict(self):
        folds, params = self.folds(), {}  # the defaults first
        while time.monotonic() < self.until:
            scored = self.score(params, folds)
            if scored and scored[0] < self.best[0]:
                self.best = (scored[0], params, scored[1])
            params = self.draw()
        _, params, trees = self.best
        return self.job.answer(self.model(trees, params).fit(self.X, self.job.y), self.X_test, self.classes)


def lightgbm(job):
    return Boosting(job).predict()


def xrfm(job):
    import numpy
    import torch
    from sklearn.model_selection import train_test_split
    from xrfm import xRFM

    torch.set_num_threads(job.threads)
    torch.manual_seed(job.seed)
    X, X_test = (part.astype(numpy.float32) for part in job.as_numbers(scale=True))
    if job.classify:
        classes, codes = numpy.unique(job.y, return_inverse=True)
        y = numpy.eye(len(classes), dtype=numpy.float32)[codes]
    else:
        mean, scale = job.y.mean(), job.y.std() or 1
        y = ((job.y - mean) / scale).astype(numpy.float32)[:, None]
    parts = train_test_split(X, y, test_size=0.2, random_state=job.seed, stratify=job.y if job.classify else None)
    X_train, X_held, y_train, y_held = (torch.from_numpy(part) for part in parts)
    model = xRFM(device=torch.device("cpu"), tuning_metric="accuracy" if job.classify else "mse")
    model.fit(X_train, y_train, X_held, y_held)
    start, rows = time.monotonic(), torch.from_numpy(X_test)
    if job.classify:
        found = classes[numpy.asarray(model.predict_proba(rows)).argmax(axis=1)]
    else:
        found = numpy.asarray(model.predict(rows)).ravel() * scale + mean
    job.note(start, lambda: len(pickle.dumps(model)))
    return found


# The function of each method and the package that it needs beside pandas and scikit-learn.
METHODS = {
    "autogluon": (autogluon, "autogluon.tabular"),
    "autogluon_best": (autogluon_best, "autogluon.tabular"),
    "flaml": (flaml, "flaml"),
    "catboost": (catboost, "catboost"),
    "catboost_tuned": (catboost_tuned, "flaml"),
    "lightgbm": (lightgbm, "lightgbm"),
    "xgboost": (xgboost, "xgboost"),
    "histgb": (histgb, "scikit-learn"),
    "extratrees": (extratrees, "scikit-learn"),
    "svm": (svm, "scikit-learn"),
    "linear": (linear, "scikit-learn"),
    "xrfm": (xrfm, "xrfm"),
}


def versions():
    found = {}
    for name, (_, package) in METHODS.items():
        try:
            for needed in ("pandas", "scikit-learn"):
                importlib.metadata.version(needed)
            found[name] = package + " " + importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def main(words):
    if words == ["versions"]:
        print(json.dumps(versions()))
        return
    name, folder, out = words
    import pandas

    folder, out = os.path.abspath(folder), os.path.abspath(out)
    os.chdir(folder)  # where FLAML's CatBoost writes its files
    job = Job(folder)
    found = METHODS[name][0](job)
    columns = {"prediction": found}
    if isinstance(found, tuple):
        columns = {"prediction": found[0], "probability_" + job.positive: found[1]}
    pandas.DataFrame(columns).to_csv(out, index=False)
    print(json.dumps(job.notes))


if __name__ == "__main__":
    main(sys.argv[1:])

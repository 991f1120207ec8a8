import json, resource, sys, time

import numpy as np
import sklearn

t = json.loads(sys.argv[1])
peer = "scikit-learn " + sklearn.__version__
if t["Intelex"]:
    from sklearnex import patch_sklearn

    patch_sklearn()
    peer = "scikit-learn-intelex"
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC, SVR

data = np.fromfile(t["File"]).reshape(t["Rows"], -1)
X, y = np.ascontiguousarray(data[:, :-1]), data[:, -1]


def cpu():
    return sum(u.ru_utime + u.ru_stime for u in (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


machine = SVR(epsilon=0.1, cache_size=1000) if t["Regression"] else SVC(cache_size=1000)
grid = len(t["Gamma"]) * len(t["C"]) > 1
model = machine.set_params(gamma=t["Gamma"][0], C=t["C"][0])
if grid:
    model = GridSearchCV(machine, {"gamma": t["Gamma"], "C": t["C"]}, cv=KFold(5), n_jobs=t["Threads"], refit=False)
began, clock = cpu(), time.perf_counter()
model.fit(X, y)
clock = time.perf_counter() - clock
if grid:
    import joblib

    joblib.externals.loky.get_reusable_executor().shutdown()  # its processes count when they have ended
out = {"peer": peer, "cpu_seconds": cpu() - began, "clock_seconds": clock}
out["score"] = model.best_score_ if grid else model.score(X[:2000], y[:2000])
out["vectors"] = 0 if grid else len(model.support_)
print(json.dumps(out))

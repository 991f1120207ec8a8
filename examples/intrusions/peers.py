"""Scores the rows that examples/intrusions has written by scikit-learn's IsolationForest and OneClassSVM.

    go run ./examples/intrusions -data FOLDER -rows runs/intrusions
    python examples/intrusions/peers.py runs/intrusions

OneClassSVM takes a part of the rows only, for it grows with their square.
"""

import os
import sys
import time

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.svm import OneClassSVM

folder = sys.argv[1]
most = int(sys.argv[2]) if len(sys.argv) > 2 else 5000
truth = {part: np.fromfile(os.path.join(folder, part + ".truth"), dtype=np.uint8) for part in ("train", "test")}
rows = {part: np.fromfile(os.path.join(folder, part + ".f32"), dtype=np.float32).reshape(len(truth[part]), -1) for part in truth}
some = np.random.default_rng(0).permutation(len(rows["train"]))[:most]
for name, model, train in (
    ("IsolationForest", IsolationForest(random_state=0), rows["train"]),
    (f"OneClassSVM, {most} rows", OneClassSVM(gamma=1, nu=0.01), rows["train"][some]),
):
    begin = time.process_time()
    model.fit(train)
    fitted = time.process_time() - begin
    scores = -np.concatenate([model.decision_function(part) for part in np.array_split(rows["test"], 50)])
    print(f"{name}: roc_auc {roc_auc_score(truth['test'], scores):.4f}, average_precision {average_precision_score(truth['test'], scores):.4f}, fitted in {fitted:.1f} s of CPU, all {time.process_time() - begin:.1f} s")

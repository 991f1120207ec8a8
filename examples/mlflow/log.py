"""Logs the directory of a run to MLflow: result.json, cv_results.csv and all files.

    pip install mlflow
    MLFLOW_TRACKING_URI=http://localhost:5000 python3 examples/mlflow/log.py runs/adult

MLflow's own environment variables name the server, the credentials and, by MLFLOW_EXPERIMENT_NAME,
the experiment. The five best candidates of a search become nested runs.
"""

import csv
import json
import os
import sys

import mlflow

MAX_CANDIDATES = 5


def finite(metrics):
    """Omits the numbers that result.json writes as null."""
    return {name: value for name, value in metrics.items() if value is not None}


def log(folder):
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
        result = json.load(file)
    if "MLFLOW_EXPERIMENT_NAME" not in os.environ:
        mlflow.set_experiment(result["name"])
    search = result.get("search")
    with mlflow.start_run(run_name=result["name"]) as run:
        mlflow.set_tags({"bochner.task": result["task"], "bochner.seed": result["seed"]})
        mlflow.set_tags({"bochner." + name: value for name, value in result["versions"].items()})
        mlflow.set_tags({"bochner.data_sha256." + name: value for name, value in result["data_sha256"].items()})
        for part in ("train", "test", "seconds"):
            mlflow.log_metrics(finite({part + "/" + name: v for name, v in (result.get(part) or {}).items()}))
        mlflow.log_metrics({"rows/" + name: value for name, value in result["rows"].items()})
        if search:
            best, score = search["best"], "cv/" + search["score"]
            mlflow.log_params(best["params"])
            mlflow.log_metrics(finite({score: best["mean"], score + "_std": best["std"]}))
            log_candidates(folder, score, best["params"])
        names = [name for name in sorted(os.listdir(folder)) if not name.endswith(".journal")]
        for name in names:
            mlflow.log_artifact(os.path.join(folder, name))
    return run.info.run_id


def log_candidates(folder, score, best):
    with open(os.path.join(folder, "cv_results.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["mean"] not in ("", "NaN")]
    for row in sorted(rows, key=lambda row: int(row["rank"]))[:MAX_CANDIDATES]:
        params = {path: row[path] for path in best}
        name = " ".join(path + "=" + value for path, value in params.items())
        with mlflow.start_run(run_name=name, nested=True):
            mlflow.log_params(params)
            mlflow.log_metrics({score: float(row["mean"]), score + "_std": float(row["std"]), "cv/rank": int(row["rank"])})
            for fold, column in enumerate(c for c in row if c.startswith("fold")):
                if row[column] not in ("", "NaN"):
                    mlflow.log_metric(score + "_fold", float(row[column]), step=fold)


if __name__ == "__main__":
    for folder in sys.argv[1:] or sys.exit(__doc__):
        print(log(folder))

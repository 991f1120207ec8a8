"""Compares what MLflow's client reads from a server with the directories of the runs that check.sh logged there."""

import csv
import json
import os
import sys
import tempfile

import mlflow

client = mlflow.MlflowClient()
compared = 0


def same(what, got, want):
    global compared
    compared += 1
    if got != want:
        sys.exit("mlflow: %s is %r, wanted %r" % (what, got, want))


for folder, identifier in zip(sys.argv[1::2], sys.argv[2::2]):
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
        result = json.load(file)
    run = client.get_run(identifier)
    same("status", run.info.status, "FINISHED")
    same("name", run.info.run_name, result["name"])
    same("experiment", client.get_experiment(run.info.experiment_id).name, result["name"])
    for part in ["train", "test"]:
        logged = {k.split("/", 1)[1]: v for k, v in run.data.metrics.items() if k.startswith(part + "/")}
        same(part, logged, result[part])
    same("seconds", run.data.metrics["seconds/total"], result["seconds"]["total"])
    same("seed", run.data.tags["bochner.seed"], str(result["seed"]))
    same("task", run.data.tags["bochner.task"], result["task"])
    if "search" in result:
        best = result["search"]["best"]
        for path, value in best["params"].items():
            same(path, float(run.data.params[path]), float(value))
        same("mean", run.data.metrics["cv/accuracy"], best["mean"])
        with open(os.path.join(folder, "cv_results.csv"), encoding="utf-8") as file:
            means = sorted((float(row["mean"]) for row in csv.DictReader(file)), reverse=True)
        children = client.search_runs([run.info.experiment_id], "tags.`mlflow.parentRunId` = '%s'" % identifier)
        same("candidates", sorted((c.data.metrics["cv/accuracy"] for c in children), reverse=True), means[:5])
        for child in children:
            folds = client.get_metric_history(child.info.run_id, "cv/accuracy_fold")
            same("folds", len(folds), result["search"]["folds"])
            mean = sum(m.value for m in folds) / len(folds)
            same("mean of the folds", round(mean, 12), round(child.data.metrics["cv/accuracy"], 12))
    names = sorted(name for name in os.listdir(folder) if not name.endswith(".journal"))
    same("files", sorted(a.path for a in client.list_artifacts(identifier)), names)
    with tempfile.TemporaryDirectory() as there:
        for name in names:
            with open(client.download_artifacts(identifier, name, there), "rb") as got:
                with open(os.path.join(folder, name), "rb") as want:
                    same(name, got.read(), want.read())
print("mlflow %s: its client reads what the runs wrote, in %d comparisons" % (mlflow.__version__, compared))

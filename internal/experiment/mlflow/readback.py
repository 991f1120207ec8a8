"""Compares what MLflow's client reads from a server with the folders of the runs that check.sh has logged there."""

import csv
import json
import os
import sys
import tempfile
import time
import urllib.error
import urllib.request


def same(what, got, want):
    if got != want:
        sys.exit("mlflow: %s is %r, wanted %r" % (what, got, want))


def ask(what, body=None):
    """Asks the server, for what has to be quick: to import MLflow's client takes some seconds."""
    request = urllib.request.Request(sys.argv[1] + "/api/2.0/mlflow/" + what, json.dumps(body).encode() if body else None, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def now(experiment):
    """The runs of an experiment, as they are."""
    try:
        found = ask("experiments/get-by-name?experiment_name=" + experiment)["experiment"]
    except urllib.error.HTTPError:
        return []
    return ask("runs/search", {"experiment_ids": [found["experiment_id"]]}).get("runs", [])


if sys.argv[2] == "--begun":
    deadline = time.monotonic() + 60
    while len([r for r in now(sys.argv[3]) if "bochner.seed" in [t["key"] for t in r["data"]["tags"]]]) < int(sys.argv[4]):
        if time.monotonic() > deadline:
            sys.exit("mlflow: the run does not begin")
        time.sleep(0.1)
    sys.exit()
if sys.argv[2] == "--killed":
    sys.exit("KILLED" not in [r["info"]["status"] for r in now(sys.argv[3])])

import mlflow

client = mlflow.MlflowClient(sys.argv[1])


def runs_of(experiment):
    found = client.get_experiment_by_name(experiment)
    return client.search_runs([found.experiment_id]) if found else []


compared = 0
for folder, experiment in zip(sys.argv[2:], ["iris", "found by auto"]):
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
        result = json.load(file)
    parents = [r for r in runs_of(experiment) if "mlflow.parentRunId" not in r.data.tags]
    same("runs of " + experiment, len(parents), 1)
    run = parents[0]
    same("status", run.info.status, "FINISHED")
    same("run", result["mlflow"]["run_id"], run.info.run_id)
    same("name", run.info.run_name, result["name"])
    same("warnings", result["warnings"], [])
    for part in ["train", "test"]:
        logged = {k.split("/", 1)[1]: v for k, v in run.data.metrics.items() if k.startswith(part + "/")}
        same(part, logged, result[part])
        compared += len(logged)
    same("seconds", run.data.metrics["seconds/total"], result["seconds"]["total"])
    same("seed", run.data.tags["bochner.seed"], str(result["seed"]))
    same("task", run.data.tags["bochner.task"], result["task"])
    if "search" in result:
        best = result["search"]["best"]
        for path, value in best["params"].items():
            same(path, float(run.data.params[path]), float(value))
        same("mean", run.data.metrics["cv/accuracy"], best["mean"])
        with open(os.path.join(folder, "cv_results.csv"), encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        first = next(r for r in rows if all(float(r[p]) == float(v) for p, v in best["params"].items()))
        folds = [float(v) for k, v in first.items() if k.startswith("fold")]
        history = sorted(client.get_metric_history(run.info.run_id, "cv/accuracy_fold"), key=lambda m: m.step)
        same("folds", [m.value for m in history], folds)
        same("folds", len(folds), result["search"]["folds"])
        children = client.search_runs([run.info.experiment_id], "tags.`mlflow.parentRunId` = '%s'" % run.info.run_id)
        same("candidates", sorted(c.data.metrics["cv/accuracy"] for c in children), sorted((float(r["mean"]) for r in rows), reverse=True)[:5][::-1])
        compared += len(folds) + len(children)
    names = sorted(f for f in os.listdir(folder) if not f.endswith(".journal"))
    same("files", sorted(a.path for a in client.list_artifacts(run.info.run_id)), names)
    with tempfile.TemporaryDirectory() as there:
        for name in names:
            with open(client.download_artifacts(run.info.run_id, name, there), "rb") as got, open(os.path.join(folder, name), "rb") as want:
                same(name, got.read(), want.read())
    compared += len(names)

for experiment, status in [("fails", "FAILED"), ("stopped", "KILLED")]:
    run = runs_of(experiment)[0]
    same("the run that " + experiment, run.info.status, status)
    same("metrics", run.data.metrics, {})
if "must have at least 2 rows" not in runs_of("fails")[0].data.tags["bochner.error"]:
    sys.exit("mlflow: why the run failed is not logged")
print("mlflow %s: what its client reads is what the runs wrote, in %d scores, candidates and files; a run that was stopped is KILLED, one that failed FAILED" % (mlflow.__version__, compared))

"""Fits one experiment in five ways, with one worker and with two, and writes the times, in
brackets those of processors, and how the models differ.

    python distributed/ways/rows.py rows kddcup.data_10_percent.gz
    python distributed/ways/ways.py rows kdd-ridge kdd-pca kdd-logistic kdd-search

memory and stream are `bochner run` with 1 and 2 cores. verbs are processes of `bochner shard fit` of one core each, 1 or
2 at a time. spark is a standalone cluster of 1 or 2 workers of one core on this machine, an executor of which is killed
in mid-pass. beam is prism in a process of 1 or 2 cores. It needs Go, Java and a Python with pyspark.
"""

import argparse
import concurrent.futures
import csv
import glob
import hashlib
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))

DATA = {
    "kdd": ("kdd/*.parquet", "label", "classification", "ridge_classifier", True),
    "made": ("made/*.parquet", "y", "regression", "ridge", False),
    "million": ("million/*.parquet", "y", "regression", "ridge", False),
}
MIXED = """  - columns:
      - {name: numbers, select: numeric, steps: [standardize]}
      - {name: texts, select: categorical, steps: [onehot]}
"""
MODELS = {
    "ridge": "  - rff: {features: 128, gamma: 0.02}\n  - RIDGE: {alpha: 1}\n",
    "pca": "  - pca: {components: 16}\n  - rff: {features: 128, gamma: 0.02}\n  - RIDGE: {alpha: 1}\n",
    "logistic": "  - rff: {features: 32, gamma: 0.02}\n  - logistic: {C: 0.1}\n",
    "search": "  - rff: {features: 64}\n  - RIDGE\n",
}
SEARCH = """search:
  grid:
    rff.gamma: [0.003, 0.01, 0.03, 0.1, 0.3]
    RIDGE.alpha: [0.0001, 0.001, 0.01, 0.1, 1, 10, 100, 1000, 10000, 100000]
  cv: {kind: hash, folds: 5}
"""


def experiment(folder, name):
    """The text of an experiment such as kdd-ridge."""
    data, model = name.split("-")
    train, target, task, ridge, texts = DATA[data]
    aside = ""
    if not texts:
        if model == "logistic":
            target, task, aside = "side", "classification", ", drop: [y]"
        else:
            aside = ", drop: [side]"
    text = 'name: %s\ndata: {train: "%s", target: %s, task: %s%s}\npipeline:\n' % (name, os.path.join(folder, train), target, task, aside)
    text += (MIXED if texts else "  - standardize\n") + MODELS[model]
    if model == "search":
        text += SEARCH
    return text.replace("RIDGE", ridge) + "report: {html: false, importance: {repeats: 0}, learning_curve: {points: 0}}\noutput: {dir: run}\n"


class Ways:
    def __init__(self, work, binary, beam, limit):
        self.work, self.binary, self.beam, self.limit = work, binary, beam, limit

    def run(self, args, cores, **more):
        environment = dict(os.environ, GOMAXPROCS=str(cores))
        done = subprocess.run(args, env=environment, capture_output=True, text=True, timeout=self.limit, **more)
        if done.returncode != 0:
            raise SystemExit("%s: %s" % (" ".join(args), done.stderr[-3000:]))
        return done.stdout

    def fresh(self, name):
        folder = os.path.join(self.work, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return folder

    def memory(self, spec, workers, shards, stream="never"):
        folder = self.fresh("run")
        self.run([self.binary, "--quiet", "run", spec, "--set", "output.dir=" + folder, "--set", "data.stream=" + stream], workers)
        with open(os.path.join(folder, "result.json")) as file:
            took = json.load(file)["seconds"]
        return os.path.join(folder, "model.bochner"), "%.1f s of it load, search and refit" % (took["load"] + took["search"] + took["refit"])

    def stream(self, spec, workers, shards):
        return self.memory(spec, workers, shards, "always")

    def verbs(self, spec, workers, shards):
        states, model = self.fresh("states"), os.path.join(self.fresh("model"), "model.bochner")
        start, passes = [], 0
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            while True:
                part = lambda k: self.run([self.binary, "--quiet", "shard", "fit", spec, "--shard", "%d/%d" % (k, shards), *start, "-o", "%s/%d.state" % (states, k)], 1)
                list(pool.map(part, range(shards)))
                said = json.loads(self.run([self.binary, "--quiet", "--json", "shard", "finish", states + "/*", "-o", model], workers, cwd=self.fresh("run")))
                passes += 1
                if said["done"]:
                    return model, "%d passes" % passes
                start, states = ["--from", model], self.fresh("states")

    def prism(self, spec, workers, shards):
        store = self.fresh("store")
        self.run([self.beam, "-spec", spec, "-shards", str(shards), "-store", store, "-passes", "60"], workers, cwd=self.fresh("run"))
        return os.path.join(store, "model.bochner"), ""

    def spark(self, spec, workers, shards):
        """Starts a cluster, and kills an executor when some shards of a pass, the second if there is one, are done."""
        import pyspark

        home = os.path.dirname(pyspark.__file__)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            master = "spark://127.0.0.1:%d" % s.getsockname()[1]
        environment = dict(os.environ, SPARK_HOME=home, SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)
        folder, store = self.fresh("spark"), self.fresh("store")
        kinds = [["master.Master", "--host", "127.0.0.1", "--port", master.rsplit(":", 1)[1], "--webui-port", "0"]]
        kinds += [["worker.Worker", "--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "1g", "--work-dir", folder + "/%d" % k, master] for k in range(workers)]
        log = open(os.path.join(folder, "log"), "w")
        processes = [subprocess.Popen([home + "/bin/spark-class", "org.apache.spark.deploy." + kind[0], *kind[1:]], env=environment, stdout=log, stderr=log) for kind in kinds]
        model = os.path.join(folder, "model")
        said, over = [], threading.Event()
        try:
            killer = threading.Thread(target=self.kill, args=(processes[1:], os.path.join(store, "pass-%d" % (not spec.endswith("search.yaml"))), shards, said, over))
            killer.start()
            settings = ["spark.executor.cores=1", "spark.executor.memory=512m", "spark.ui.enabled=false"]
            submit = [home + "/bin/spark-submit", "--master", master, *(a for s in settings for a in ("--conf", s)), os.path.join(HERE, "../spark/bochner_spark.py")]
            submit += [spec, "--shards", str(shards), "--store", store, "--binary", self.binary, "-o", model]
            done = subprocess.run(submit, env=environment, capture_output=True, text=True, timeout=self.limit, cwd=self.fresh("run"))
            over.set()
            killer.join()
            if done.returncode != 0:
                raise SystemExit(done.stderr[-3000:])
        finally:
            over.set()
            for p in processes[1:] + processes[:1]:
                p.terminate()
            for p in processes:
                p.wait()
        fit = json.loads(done.stdout.strip().splitlines()[-1])["seconds"]
        return model, "%s; %.0f s without the start of Spark" % ((said or ["nobody was killed"])[0], fit)

    def kill(self, workers, folder, shards, said, over):
        while not over.wait(0.02):
            done = len(glob.glob(folder + "/*.state"))
            if done:
                above = {p.pid for p in workers}
                for line in subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout.splitlines()[1:]:
                    pid, parent, args = line.split(None, 2)
                    if int(parent) in above and "CoarseGrainedExecutorBackend" in args:
                        os.kill(int(pid), signal.SIGKILL)
                        said.append("an executor killed behind %d of %d parts" % (done, shards))
                        return

    def predictions(self, model, rows):
        out = os.path.join(self.work, "predictions.csv")
        self.run([self.binary, "--quiet", "predict", model, rows, "--drop", "side,y" if "kdd" not in rows else "label", "-o", out], 2)
        with open(out) as file:
            lines = list(csv.reader(file))
        return [line[1:] for line in lines[1:]]


def processors():
    """Seconds of processors that programs have taken which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def apart(one, two):
    """How far off numbers of predictions are at most, beside themselves or 1, and whether texts differ."""
    worst = 0.0
    for a, b in zip(one, two):
        for s, t in zip(a, b):
            x, y = number(s), number(t)
            if x is None or y is None:
                worst = worst if s == t else float("inf")
            else:
                worst = max(worst, abs(x - y) / max(1, abs(y)))
    return worst


def main():
    parser = argparse.ArgumentParser(description="Fit experiments in five ways.")
    parser.add_argument("rows", help="folder that rows.py has written")
    parser.add_argument("experiments", nargs="+", help="%s, with one of %s behind a hyphen" % (", ".join(DATA), ", ".join(MODELS)))
    parser.add_argument("--work", default="ways", help="folder for what is made")
    parser.add_argument("--ways", default="memory,stream,verbs-7,verbs-64,spark-7,prism-7")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--limit", type=float, default=600, help="seconds that a command may take")
    args = parser.parse_args()
    work, rows = os.path.abspath(args.work), os.path.abspath(args.rows)
    os.makedirs(work, exist_ok=True)
    root = os.path.join(HERE, "../..")
    binary, beam = os.path.join(work, "bochner"), os.path.join(work, "beam")
    subprocess.run(["go", "build", "-o", binary, "./cmd/bochner"], cwd=root, check=True)
    if "prism" in args.ways:
        subprocess.run(["go", "build", "-o", beam, "./fit"], cwd=os.path.join(root, "distributed/beam"), check=True)
    ways = Ways(work, binary, beam, args.limit)
    for name in args.experiments:
        spec = os.path.join(work, name + ".yaml")
        with open(spec, "w") as file:
            file.write(experiment(rows, name))
        sample = sorted(glob.glob(os.path.join(rows, "kdd" if name.startswith("kdd") else "million", "*.parquet")))[0]
        base, tree = None, None
        print("%s\n| way | %s | model | apart from the first | |\n|---|%s---|---|---|" % (name, " | ".join("%s workers, s" % w for w in args.workers.split(",")), "---|" * len(args.workers.split(","))), flush=True)
        for way in args.ways.split(","):
            kind, _, shards = way.partition("-")
            times, models, notes = [], set(), []
            for workers in args.workers.split(","):
                began, used = time.time(), processors()
                try:
                    model, note = getattr(ways, kind)(spec, int(workers), int(shards or 0))
                except subprocess.TimeoutExpired:
                    times.append("more than %g" % args.limit)
                    continue
                times.append("%.1f (%.1f)" % (time.time() - began, processors() - used))
                notes.append(note)
                with open(model, "rb") as file:
                    models.add(hashlib.sha256(file.read()).hexdigest()[:12])
            if not models:
                print("| %s | %s |" % (way, " | ".join(times)), flush=True)
                continue
            predicted = ways.predictions(model, sample)
            base = base or predicted
            print("| %s | %s | %s | %.1e | %s |" % (way, " | ".join(times), " ".join(sorted(models)), apart(predicted, base), "; ".join(dict.fromkeys(filter(None, notes)))), flush=True)


if __name__ == "__main__":
    main()

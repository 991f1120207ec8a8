"""Fits the pipeline of a Bochner experiment file on a Spark cluster.

Spark brings the machines, hands out the shards and does again what was lost; `bochner shard` does the work. Every pass
over the rows is a Spark job of one task for each shard, and then one or more that merge the states of 16 into one
until 16 are left, which finish takes. What a task finds is a file in a store that all machines reach, a folder or a URL;
tasks pass on its name, so that no sums go through Spark.

From files that all machines see under one name:

    spark-submit --master spark://HOST:7077 bochner_spark.py adult.yaml --shards 64 --store /shared/job -o model.bochner

From a DataFrame:

    import bochner_spark
    out = bochner_spark.fit(spark, "adult.yaml", store="/shared/job", model="model.bochner", rows=df)

A task that is done again writes the same bytes under the same name, so killed executors, retries and speculative
execution change nothing: the model has the bits of the verbs on one machine with as many shards.

It needs the command `bochner` on every machine and, for DataFrames, pandas and pyarrow, which Spark wants; nothing else
that Spark has not. A task takes as many cores as Spark gives it (spark.task.cpus), and memory beside the executor's
heap: where the cluster sets limits, spark.executor.memoryOverhead has to leave room for it.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

__all__ = ["Failed", "fit"]


FAN = 16  # how many states a task merges


class Failed(Exception):
    """A step of the job failed: what the command has said."""


def fit(spark, spec, store, model, shards=None, rows=None, overrides=(), binary="bochner", tell=None):
    """Fits the pipeline of the experiment file `spec` and writes the model to `model`.

    spark      SparkSession.
    spec       Path of the experiment file. Its data.train is read on every machine, unless rows are given: relative
               to the file, which then has to be where all machines see it, or a URL.
    store      Folder or URL that all machines reach, of this job alone. States of the passes are left in it.
    shards     Into how many shards the rows of the files are cut; twice the cores of the cluster when left out.
    rows       DataFrame whose partitions are the shards. A partition has to give the same rows in the same order in
               every pass: read from files it does; what comes out of a shuffle is written to files first.
    overrides  Values such as "rff.gamma=0.1" that replace those of the file.
    binary     The command on every machine.
    tell       Called with what finish says of every pass.

    Returns what the last finish says, with "passes" and "seconds". Raises Failed.
    """
    try:
        return passes(spark, spec, store, model, shards, rows, overrides, binary, tell)
    except Failed:
        raise
    except Exception as error:  # Spark wraps what a task has raised
        said = [line.split("Failed: ", 1)[1].strip() for line in str(error).splitlines() if "Failed: " in line]
        if not said:
            raise
        raise Failed(said[0]) from error


def passes(spark, spec, store, model, shards, rows, overrides, binary, tell):
    context, began = spark.sparkContext, time.time()
    if __name__ != "__main__":
        context.addPyFile(os.path.abspath(__file__))  # tasks import it
    flags = [arg for value in overrides for arg in ("--set", value)]
    with open(spec, encoding="utf-8") as file:
        text = file.read()
    schema = None
    if rows is not None:
        shards = rows.rdd.getNumPartitions()
        flags += ["--set", "data.train=-", "--set", "data.format=arrow"]
        schema = arrow_schema(rows)
    elif not shards:
        shards = 2 * context.defaultParallelism
    job = Job(binary, os.path.abspath(spec), text if rows is not None else None, flags, store.rstrip("/"), shards)
    start, done = None, 0
    while True:
        folder = job.folder(done)
        if rows is None:
            states = context.parallelize(range(shards), shards).map(lambda shard: job.part(shard, folder, start)).collect()
        else:
            said = rows.mapInArrow(lambda batches: job.pipe(batches, folder, start, schema), "name string")
            states = sorted(row.name for row in said.collect())
        while len(states) > FAN:
            groups = [states[k : k + FAN] for k in range(0, len(states), FAN)]
            states = context.parallelize(groups, len(groups)).map(lambda group: job.merge(group, folder)).collect()
        start = folder + "/model"
        out = job.run("finish", *states, "-o", start)
        done += 1
        if tell:
            tell(out)
        if out["done"]:
            if "://" in start + model:
                job.run("finish", *states, "-o", model)
            else:
                shutil.copyfile(start, model)
            return {**out, "file": model, "passes": done, "seconds": time.time() - began}


def arrow_schema(rows):
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(rows.schema, timezone="UTC")


class Job:
    """What every task has to know."""

    def __init__(self, binary, spec, text, flags, store, shards):
        self.binary, self.spec, self.text = binary, spec, text
        self.flags, self.store, self.shards = flags, store, shards

    def folder(self, k):
        """Where the states of a pass are."""
        name = "%s/pass-%d" % (self.store, k)
        if "://" not in name:
            os.makedirs(name, exist_ok=True)
        return name

    def part(self, shard, folder, start, pipe=None):
        """Does a shard's part and returns the name of its state."""
        out = "%s/%d.state" % (folder, shard)
        with tempfile.TemporaryDirectory() as scratch:
            spec = self.spec
            if self.text is not None:  # the file need not be on this machine
                spec = os.path.join(scratch, os.path.basename(spec))
                with open(spec, "w", encoding="utf-8") as file:
                    file.write(self.text)
            args = ["fit", spec, "--shard", "%d/%d" % (shard, self.shards), "-o", out, *self.flags]
            if start:
                args += ["--from", start]
            if pipe:
                args += ["--data", "-"]
            self.run(*args, pipe=pipe)
        return out

    def pipe(self, batches, folder, start, schema):
        """Does the part of the partition whose rows are in the batches."""
        import pyarrow
        from pyspark import TaskContext

        def write(sink):
            with pyarrow.ipc.new_stream(sink, schema) as stream:
                for batch in batches:
                    stream.write_batch(batch.cast(schema) if batch.schema != schema else batch)

        name = self.part(TaskContext.get().partitionId(), folder, start, write)
        yield pyarrow.RecordBatch.from_arrays([pyarrow.array([name])], names=["name"])

    def merge(self, states, folder):
        """Puts states together. Their names make that of the new one, for whoever does it again."""
        names = hashlib.sha256("\n".join(states).encode()).hexdigest()[:16]
        out = "%s/merged-%s.state" % (folder, names)
        self.run("merge", *states, "-o", out)
        return out

    def run(self, *args, pipe=None):
        """Runs a verb and returns what it says."""
        from pyspark import TaskContext

        environment, task = dict(os.environ), TaskContext.get()
        if task is not None:  # the cores are not all of one task
            environment.setdefault("GOMAXPROCS", str(task.cpus()))
        process = subprocess.Popen(
            [self.binary, "--quiet", "--json", "shard", *args],
            stdin=subprocess.PIPE if pipe else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        if pipe:
            try:
                pipe(process.stdin)
            except BrokenPipeError:
                pass  # it says why itself
            except BaseException:
                process.kill()
                process.communicate()
                raise
            finally:
                try:
                    process.stdin.close()
                except BrokenPipeError:
                    pass
                process.stdin = None
        out, err = process.communicate()
        if process.returncode != 0:
            raise Failed(err.decode(errors="replace").strip() or "%s ended with status %d" % (self.binary, process.returncode))
        return json.loads(out)


def main():
    parser = argparse.ArgumentParser(description="Fit the pipeline of a Bochner experiment file on a Spark cluster.")
    parser.add_argument("spec", metavar="experiment.yaml")
    parser.add_argument("--store", required=True, help="folder or URL that all machines reach, of this job alone")
    parser.add_argument("-o", dest="model", required=True, metavar="MODEL", help="file to write the model to")
    parser.add_argument("--shards", type=int, help="shards of the rows; twice the cores when left out")
    parser.add_argument("--parquet", help="rows: Parquet files that Spark reads, instead of data.train of the experiment")
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="PATH=VALUE")
    parser.add_argument("--binary", default="bochner", help="the command on every machine")
    args = parser.parse_args()

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("bochner").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    rows = spark.read.parquet(args.parquet) if args.parquet else None
    try:
        out = fit(spark, args.spec, args.store, args.model, args.shards, rows, args.overrides, args.binary, tell=lambda said: print(json.dumps(said), flush=True))
    except Exception as error:
        print("bochner_spark: %s" % error, file=sys.stderr)
        sys.exit(1)
    finally:
        spark.stop()
    print(json.dumps(out))


if __name__ == "__main__":
    main()

"""Compares exported models with what Bochner predicts, and prints how far off they are.

    check.py FOLDER

FOLDER is what the command check has written, with the Go program that is made of it in go/check. It fails where one is
further off than it may be: ONNX by 1e-5 in float32, by 1e-9 in float64 and by 1e-2 in float32-only, the modules of
Python and the packages of Go by 1e-12, all of them relative to the largest number of an output where that is above 1.
Labels have to be equal, but for float32 where two classes are as likely up to rounding.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

ONNX_NAMES = {"value": "variable", "values": "variable"}


def number(value):
    return float("nan") if value is None else value


def fields(case):
    return {c["name"]: c["values"] for c in case["inputs"]}


def said_by_onnx(case, path, precision):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    kind = {"tensor(string)": object, "tensor(float)": np.float32, "tensor(double)": np.float64}
    assert precision != "float64" or not any(i.type == "tensor(float)" for i in session.get_inputs() + session.get_outputs())
    feeds = {}
    for one in session.get_inputs():
        values = fields(case)[one.name]
        if one.type != "tensor(string)":
            values = [number(v) for v in values]
        feeds[one.name] = np.array(values, kind[one.type]).reshape(-1, 1)
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds)))


def said_by_python(case, path):
    spec = importlib.util.spec_from_file_location(case["name"], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    columns = fields(case)
    out = module.outputs(columns)
    rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
    table = np.array(list(zip(*columns.values())), object)
    for other in (rows, table):
        for name, values in module.outputs(other).items():
            assert np.array_equal(values, out[name], equal_nan=True), f"{name} depends on how rows are given"
    for bad, text in [
        ({}, "missing columns: age, "),
        ([rows[0], {"age": 3}], "row 1: missing columns: income, "),
        (table[:, :2], "rows must have shape (n, 5), got (1000, 2)"),
        ({**columns, "age": ["old"] * len(rows)}, "column age: values must be numbers"),
    ]:
        try:
            module.predict(bad)
            raise AssertionError(f"accepts invalid rows, want the error: {text}")
        except ValueError as err:
            assert text in str(err), str(err)
    if "label" in out:
        out["label"] = module.predict(columns)
    else:
        assert np.array_equal(np.ravel(module.predict(columns)), np.ravel(out.get("value", out.get("values"))))
    if "probabilities" in out:
        assert np.array_equal(module.predict_proba(rows), out["probabilities"])
    return out


def said_by_go(case, folder):
    columns = fields(case)
    lines = "\n".join(json.dumps({k: v for k, v in zip(columns, row) if v is not None}) for row in zip(*columns.values()))
    told = subprocess.run([folder / "go" / "check", case["name"]], input=lines, capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in told.splitlines()]
    out = {name: np.array([row[name] for row in rows]) for name in case["outputs"]}
    return {name: v if name == "label" else v.reshape(len(rows), -1) for name, v in out.items()}


def margin(case):
    """How far the two likeliest classes are apart in each row, as far as the model tells."""
    for name in ("probabilities", "scores"):
        if name in case["outputs"]:
            scores = np.array(case["outputs"][name], float)
            if scores.shape[1] == 1:
                return np.abs(scores[:, 0])
            scores = np.sort(scores, axis=1)
            return scores[:, -1] - scores[:, -2]
    return np.inf


def furthest(case, said, limit, names={}):
    worst = 0.0
    for name, want in case["outputs"].items():
        got = said[names.get(name, name)]
        if name == "label":
            other = got.astype(str) != np.array(want).astype(str)
            assert not np.any(other & ((limit < 1e-6) | (margin(case) > 10 * limit))), f"labels of {other.sum()} rows are others"
            continue
        want = np.array(want, float)
        assert got.shape == want.shape, f"{name} is {got.shape}, wanted {want.shape}"
        if name == "values" and case.get("classes"):  # several labels, 1 where the score is positive
            outputs = case["outputs"]
            score = np.array(outputs["probabilities"], float) - 0.5 if "probabilities" in outputs else np.array(outputs["scores"], float)
            assert not np.any((got != want) & ((limit < 1e-6) | (np.abs(score) > 10 * limit))), "other labels"
            continue
        finite = np.isfinite(want)
        assert np.array_equal(got[~finite], want[~finite], equal_nan=True), f"{name}: infinite ones differ"
        off = np.abs(got[finite] - want[finite]) / max(1, np.abs(want[finite]).max(initial=0))
        assert not np.isnan(off).any(), f"{name} has NaN"
        worst = max(worst, off.max(initial=0))
    return worst


def main(folder):
    folder = Path(folder)
    cases = json.loads((folder / "cases.json").read_text())
    wrong, refused = 0, []
    print(f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}, numpy {np.__version__}; 1,000 rows each\n")
    print("| model | float32 | float64 | float32-only | Python | Go |\n|---|---|---|---|---|---|")
    for case in cases:
        name = case["name"]
        if case.get("refusal"):
            refused.append(f"{name}: {case['refusal']}")
            continue
        words = []
        # Large values of these kernels cancel in the sums: their condition number is 1e3 times larger.
        slack = 1e3 if name in ("nystroem_polynomial", "kernel_svr_polynomial", "nystroem_chi2") else 1
        for limit, say in [
            (1e-5, lambda: said_by_onnx(case, folder / f"{name}.float32.onnx", "float32")),
            (1e-9, lambda: said_by_onnx(case, folder / f"{name}.float64.onnx", "float64")),
            (1e-2, lambda: said_by_onnx(case, folder / f"{name}.float32-only.onnx", "float32-only")),
            (1e-12, lambda: said_by_python(case, folder / f"{name}.py")),
            (1e-12, lambda: said_by_go(case, folder)),
        ]:
            limit *= slack
            onnx_names = ONNX_NAMES if len(words) < 3 else {}
            try:
                off = furthest(case, say(), limit, onnx_names)
            except Exception as err:
                wrong += 1
                words.append("fails")
                print(f"{name}: {type(err).__name__}: {err}", file=sys.stderr)
                continue
            wrong += off > limit
            words.append(f"{off:.0e}".replace("e-0", "e-") + (" (too far)" if off > limit else ""))
        print(" | ".join([f"| {name}"] + words) + " |")
    print("\nrefused:")
    for line in refused:
        print("  " + line)
    if wrong or len(cases) - len(refused) < 25:
        sys.exit(f"{wrong} are further off than they may be, of {len(cases)} models")


main(sys.argv[1])

"""Asks a server of bochner with clients of others; see check.sh."""

import asyncio
import csv
import json
import os
import shutil
import ssl
import sys
import urllib.error
import urllib.request

import numpy as np

IRIS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def rows(name):
    with open(name + ".csv", newline="") as f:
        return list(csv.DictReader(f))


def predicted(name):
    with open(name + ".predicted.csv", newline="") as f:
        return list(csv.DictReader(f))


def same(what, got, want):
    got, want = list(got), list(want)
    assert len(got) == len(want) and all(a == b for a, b in zip(got, want)), f"{what}: {got[:3]}, wanted {want[:3]}"
    print(f"  {what}: {len(got)} the same")


def expected(name):
    """The outputs that are to come, flat, by name."""
    said = predicted(name)
    if name == "rent":
        return {out: [float(r[column]) for r in said] for out, column in {"value": "prediction", "std": "std", "lower": "lower", "upper": "upper"}.items()}
    classes = [c for c in said[0] if c.startswith("probability_")]
    return {"label": [r["prediction"] for r in said], "probabilities": [float(r[c]) for r in said for c in classes]}


def columns(name):
    """The inputs, as an array for each column."""
    given = rows(name)
    if name == "iris":
        return {"X": (np.array([[float(r[c]) for c in IRIS] for r in given]), "FP64")}
    out = {}
    for column in given[0]:
        if column == "rent":
            continue
        if column in ("district", "furnished"):
            out[column] = (np.array([r[column] for r in given], dtype=object), "BYTES")
        else:
            out[column] = (np.array([float(r[column] or "nan") for r in given]), "FP64")
    return out


def text(values):
    return [v.decode() if isinstance(v, bytes) else v for v in values]


def triton(address, **options):
    import tritonclient.http as http

    client = http.InferenceServerClient(address.split("://")[1], **options)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("rent", "1") and not client.is_model_ready("nobody")
    assert client.get_server_metadata()["name"] == "bochner"
    for name in ("rent", "iris"):
        about = client.get_model_metadata(name)
        inputs = columns(name)
        assert [i["name"] for i in about["inputs"]] == list(inputs), about
        want = expected(name)
        for binary_in in (True, False):
            for binary_out in (True, False):
                for packed in (None, "gzip"):
                    given = []
                    for column, (values, datatype) in inputs.items():
                        if not binary_in and datatype == "FP64" and np.isnan(values).any():
                            values, datatype = np.array(["" if v != v else repr(float(v)) for v in values], dtype=object), "BYTES"
                        tensor = http.InferInput(column, list(values.shape), datatype)
                        tensor.set_data_from_numpy(values, binary_data=binary_in)
                        given.append(tensor)
                    wanted = [http.InferRequestedOutput(out, binary_data=binary_out) for out in want]
                    answer = client.infer(name, given, outputs=wanted, request_id="7", request_compression_algorithm=packed)
                    assert answer.get_response()["id"] == "7"
                    for out in want:
                        same(f"triton {name} {out} binary {binary_in}/{binary_out} {packed}", text(answer.as_numpy(out).flatten().tolist()), want[out])
    try:
        tensor = http.InferInput("X", [1, 3], "FP32")
        tensor.set_data_from_numpy(np.zeros((1, 3), dtype=np.float32))
        client.infer("iris", [tensor])
        raise AssertionError("a wrong shape is answered")
    except Exception as e:
        assert "must be [rows, 4]" in str(e), e
    client.close()


def kserve(address):
    try:
        from kserve import InferenceRESTClient, InferInput, InferRequest, RESTConfig
    except ImportError:
        print("  kserve is not installed: it is left out")
        return

    async def ask():
        client = InferenceRESTClient(RESTConfig(protocol="v2"))
        assert await client.is_server_live(address) and await client.is_server_ready(address)
        assert await client.is_model_ready(address, "rent") and not await client.is_model_ready(address, "nobody")
        values = columns("iris")["X"][0]
        for binary in (False, True):
            tensor = InferInput("X", list(values.shape), "FP64")
            tensor.set_data_from_numpy(values, binary_data=binary)
            answer = await client.infer(address, InferRequest(model_name="iris", infer_inputs=[tensor], request_id="7"), model_name="iris")
            assert answer.id == "7" and answer.model_name == "iris"
            for out, want in expected("iris").items():
                got = next(o for o in answer.outputs if o.name == out)
                same(f"kserve iris {out} binary {binary}", text(got.as_numpy().flatten().tolist()), want)

    asyncio.run(ask())


def triton_grpc(address):
    import tritonclient.grpc as grpc

    client = grpc.InferenceServerClient(address)
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("rent", "1")
    assert client.get_server_metadata().name == "bochner"
    assert {m.name: m.state for m in client.get_model_repository_index().models} == {"rent": "READY", "iris": "READY"}
    for name in ("rent", "iris"):
        inputs, want = columns(name), expected(name)
        assert [i.name for i in client.get_model_metadata(name).inputs] == list(inputs)
        given = []
        for column, (values, datatype) in inputs.items():
            given.append(grpc.InferInput(column, list(values.shape), datatype))
            given[-1].set_data_from_numpy(values)
        for packed in (None, "gzip"):
            answer = client.infer(name, given, outputs=[grpc.InferRequestedOutput(out) for out in want], request_id="7", compression_algorithm=packed)
            assert answer.get_response().id == "7"
            for out in want:
                same(f"triton gRPC {name} {out} {packed}", text(answer.as_numpy(out).flatten().tolist()), want[out])
    try:
        client.infer("iris", [grpc.InferInput("X", [1, 3], "FP32").set_data_from_numpy(np.zeros((1, 3), dtype=np.float32))])
        raise AssertionError("a wrong shape is answered")
    except grpc.InferenceServerException as e:
        assert e.status() == "StatusCode.INVALID_ARGUMENT" and "must be [rows, 4]" in e.message(), e
    client.close()


def kserve_grpc(address):
    try:
        from kserve import InferenceGRPCClient, InferInput, InferRequest
    except ImportError:
        print("  kserve is not installed: it is left out")
        return

    async def ask():
        client = InferenceGRPCClient(address)
        assert await client.is_server_live() and await client.is_server_ready() and await client.is_model_ready("rent")
        values = columns("iris")["X"][0]
        for binary in (False, True):
            tensor = InferInput("X", list(values.shape), "FP64")
            tensor.set_data_from_numpy(values, binary_data=binary)
            answer = await client.infer(InferRequest(model_name="iris", infer_inputs=[tensor], request_id="7"))
            assert answer.id == "7" and answer.model_name == "iris"
            for out, want in expected("iris").items():
                got = next(o for o in answer.outputs if o.name == out)
                same(f"kserve gRPC iris {out} raw {binary}", text(got.as_numpy().flatten().tolist()), want)
        await client.close()

    asyncio.run(ask())


def closed_grpc(address):
    import tritonclient.grpc as grpc

    client = grpc.InferenceServerClient(address, ssl=True, root_certificates="tls.crt")
    assert client.is_server_ready()
    for header, fine in (({}, False), ({"authorization": "Bearer sesame2"}, False), ({"authorization": "Bearer sesame"}, True)):
        try:
            client.get_model_metadata("iris", headers=header)
            assert fine, "it is answered without the token"
        except grpc.InferenceServerException as e:
            assert not fine and e.status() == "StatusCode.UNAUTHENTICATED", e
    client.close()
    print("  gRPC: TLS and a token")


def post(address, path, body, context=None, **headers):
    request = urllib.request.Request(address + path, body if isinstance(body, bytes) else json.dumps(body).encode(), {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, context=context) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as e:
        return e.code, json.load(e)


def plain_rows(address):
    """Rows as JSON."""
    given = [{k: (v or None) for k, v in r.items()} for r in rows("rent")]
    status, answer = post(address, "/v1/models/rent:predict", {"rows": given})
    assert status == 200, answer
    for out in ("value", "std", "lower", "upper"):
        same(f"rows rent {out}", [p[out] for p in answer["predictions"]], expected("rent")[out])


def replaced(address):
    """A model that is damaged, and then another one, while it is asked."""
    body = {"rows": [{**rows("iris")[0]}]}
    first = post(address, "/v1/models/iris:predict", body)
    shutil.copy("served/iris.bochner", "good")
    with open("served/iris.bochner", "r+b") as f:
        f.truncate(1000)

    def until(is_so):
        for _ in range(200):
            status, answer = post(address, "/v1/models/iris:predict", body)
            assert status == 200, answer
            with urllib.request.urlopen(address + "/v1/models") as models:
                if is_so(models.read().decode(), answer):
                    return
            import time

            time.sleep(0.05)
        raise AssertionError("it does not change")

    until(lambda models, answer: "damaged" in models and answer == first[1])
    shutil.copy("good", "new")
    os.rename("new", "served/iris.bochner")
    until(lambda models, answer: "damaged" not in models and answer == first[1])
    print("  a damaged file: the model before answers; a good one: loaded again")


def main():
    what, address = sys.argv[1], sys.argv[2]
    if what == "rows":
        random = np.random.default_rng(1)
        print(",".join(IRIS))
        for _ in range(50):
            print(",".join(f"{v:.2f}" for v in random.uniform([4, 2, 1, 0], [8, 4.5, 7, 2.5])))
        return
    if what == "plain":
        triton(address)
        kserve(address)
        plain_rows(address)
        replaced(address)
        return
    if what != "closed":
        {"grpc": triton_grpc, "grpc-kserve": kserve_grpc, "grpc-closed": closed_grpc}[what](address)
        return
    context = ssl.create_default_context(cafile="tls.crt")
    row = {"rows": [rows("iris")[0]]}
    assert post(address, "/v1/models/iris:predict", row, context)[0] == 401
    assert post(address, "/v1/models/iris:predict", row, context, Authorization="Bearer sesame2")[0] == 401
    assert post(address, "/v1/models/iris:predict", row, context, Authorization="Bearer sesame")[0] == 200
    with urllib.request.urlopen(address + "/v2/health/ready", context=context) as answer:
        assert answer.status == 200
    print("  TLS and a token")


main()

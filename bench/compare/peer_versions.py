"""Prints the versions of what the peer's side is made of on one line."""
import platform
import numpy, sklearn
words = ["scikit-learn " + sklearn.__version__, "numpy " + numpy.__version__]
try:
    import pandas
    words.append("pandas " + pandas.__version__)
except ImportError:
    pass
try:
    from threadpoolctl import threadpool_info
    for pool in sorted(threadpool_info(), key=str):
        if pool["user_api"] == "blas":
            words.append(pool["internal_api"] + " " + str(pool["version"]) + " (" + str(pool.get("architecture", "")) + ")")
except ImportError:
    pass
print(", ".join(dict.fromkeys(words + ["Python " + platform.python_version()])))

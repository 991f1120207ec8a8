def _row(numbers, rows):
    # Which of so many rows of a table numbers name: the first for those below 0 and missing ones.
    numbers = np.where(np.isnan(numbers), 0, numbers)
    return np.clip(numbers, 0, rows - 1).astype(int)


def _softmax(v):
    v = np.exp(v - v.max(axis=1, keepdims=True))
    return v / v.sum(axis=1, keepdims=True)


def _code(name, value):
    # The code of a category: NaN where it is missing, -1 where the model does not know it.
    if value is None or value != value or value in _MISSING[name]:
        return np.nan
    if isinstance(value, (bool, np.bool_)):
        spellings = [str(value).lower(), str(value)]
    elif isinstance(value, (float, np.floating)) and float(value).is_integer():
        spellings = [str(int(value)), str(value)]
    else:
        spellings = [str(value), str(value).strip()]
    for text in spellings:
        if text in _CODES[name]:
            return float(_CODES[name][text])
    return -1.0


def _column(name, values):
    if name in _CODES:
        seen = {}  # a column has few different values
        codes = np.empty(len(values))
        for i, value in enumerate(values):
            key = (value.__class__, value)
            if key not in seen:
                seen[key] = _code(name, value)
            codes[i] = seen[key]
        return codes
    try:
        return np.array([np.nan if value is None else value for value in values], float)
    except (TypeError, ValueError) as err:
        raise ValueError(f"column {name}: not all of its values are numbers: {err}") from None


def _matrix(rows):
    # Rows as a matrix of numbers, a column for each of COLUMNS.
    if hasattr(rows, "keys"):
        missing = [name for name in COLUMNS if name not in rows]
        if missing:
            raise ValueError("there is no column " + ", ".join(missing))
        return np.column_stack([_column(name, rows[name]) for name in COLUMNS])
    if isinstance(rows, (list, tuple)) and len(rows) > 0 and hasattr(rows[0], "keys"):
        for i, row in enumerate(rows):
            missing = [name for name in COLUMNS if name not in row]
            if missing:
                raise ValueError(f"row {i} has no value for {', '.join(missing)}; one that is not known is None")
        return np.column_stack([_column(name, [row[name] for row in rows]) for name in COLUMNS])
    x = np.asarray(rows, object) if _CODES else np.asarray(rows, float)
    if x.ndim != 2 or x.shape[1] != len(COLUMNS):
        raise ValueError(f"rows of shape {x.shape}, wanted (rows, {len(COLUMNS)})")
    return np.column_stack([_column(name, x[:, j]) for j, name in enumerate(COLUMNS)]) if _CODES else x


def outputs(rows, block=1024):
    """All that the model says of rows, a matrix by each name.

    Rows are a list of dicts, columns by name (a dict or a DataFrame), or a 2-D array in the order of COLUMNS. What is
    missing is None or NaN; a string that training did not have is one that the model does not know.
    """
    x = _matrix(rows)
    with np.errstate(all="ignore"):
        parts = [_block(x[i : i + block]) for i in range(0, max(len(x), 1), block)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

def _row(numbers, rows):
    # Row indices, clipped to the table; 0 for NaN.
    numbers = np.where(np.isnan(numbers), 0, numbers)
    return np.clip(numbers, 0, rows - 1).astype(int)


def _softmax(v):
    v = np.exp(v - v.max(axis=1, keepdims=True))
    return v / v.sum(axis=1, keepdims=True)


def _code(name, value):
    # The code of a category: NaN if it is missing, -1 if it is unknown.
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
        seen = {}  # columns have few distinct values
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
        raise ValueError(f"column {name}: values must be numbers: {err}") from None


def _matrix(rows):
    # Convert rows to a matrix with the columns COLUMNS.
    if hasattr(rows, "keys"):
        missing = [name for name in COLUMNS if name not in rows]
        if missing:
            raise ValueError("missing columns: " + ", ".join(missing))
        return np.column_stack([_column(name, rows[name]) for name in COLUMNS])
    if isinstance(rows, (list, tuple)) and len(rows) > 0 and hasattr(rows[0], "keys"):
        for i, row in enumerate(rows):
            missing = [name for name in COLUMNS if name not in row]
            if missing:
                raise ValueError(f"row {i}: missing columns: {', '.join(missing)}; use None for missing values")
        return np.column_stack([_column(name, [row[name] for row in rows]) for name in COLUMNS])
    x = np.asarray(rows, object) if _CODES else np.asarray(rows, float)
    if x.ndim != 2 or x.shape[1] != len(COLUMNS):
        raise ValueError(f"rows must have shape (n, {len(COLUMNS)}), got {x.shape}")
    return np.column_stack([_column(name, x[:, j]) for j, name in enumerate(COLUMNS)]) if _CODES else x


def outputs(rows, block=1024):
    """Return all outputs of the model, a matrix for each name.

    Rows are a list of dicts, a dict or DataFrame of columns, or a 2-D array in the order of COLUMNS. Missing values are
    None or NaN; strings that training did not have are unknown categories.
    """
    x = _matrix(rows)
    with np.errstate(all="ignore"):
        parts = [_block(x[i : i + block]) for i in range(0, max(len(x), 1), block)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

#!/usr/bin/env python3
"""Load a model that arche saved into Splink, predict, and compare with arche's own pairs.

    check_model.py MODEL.json A.csv B.csv PAIRS.csv

Exits 1 when a pair of arche is missing from Splink's prediction, when Splink finds a pair above arche's floor
that arche did not return, or when a probability differs by more than 0.001.
"""
import csv
import json
import logging
import re
import sys
import unicodedata
import warnings

import duckdb
import pandas as pd

warnings.simplefilter("ignore")
logging.getLogger("splink").setLevel(logging.ERROR)
import splink  # noqa: E402

FLOOR = 0.55  # arche's default threshold less its review margin
TOLERANCE = 1e-3  # arche prints four decimals
IDS = {"national_id"}


def prepare(column, value):
    """The form in which arche compares a value."""
    text = unicodedata.normalize("NFKD", value.strip().lower())
    text = "".join(c for c in text if not unicodedata.combining(c) and unicodedata.category(c) not in ("Cf", "Cc"))
    text = re.sub(r"\s+", " ", text).rstrip()
    if column in IDS:
        text = re.sub(r"[^a-z0-9]", "", text)
    if column == "phone":
        text = re.sub(r"[^a-z0-9]", "", text)[-9:]
    if column in ("birth_date", "date_of_birth", "dob"):
        m = re.fullmatch(r"(\d{4})\D(\d{1,2})\D(\d{1,2})", text) or re.fullmatch(r"(\d{4})(\d\d)(\d\d)", text)
        if m:
            text = "%s-%02d-%02d" % (m[1], int(m[2]), int(m[3]))
    return text or None


def table(path):
    rows = []
    with open(path, newline="", encoding="utf-8") as f:
        for r in csv.DictReader(f):
            rows.append({("unique_id" if k == "id" else k): (v if k == "id" else prepare(k, v)) for k, v in r.items()})
    return pd.DataFrame(rows, dtype=object)


def linker(a, b, model):
    from splink import Linker

    con = duckdb.connect()
    try:
        from splink import DuckDBAPI
    except ImportError:
        from splink.backends.duckdb import DuckDBAPI
    api = DuckDBAPI(con)
    if splink.__version__.startswith("4"):
        return Linker([a, b], model, db_api=api, input_table_aliases=["a", "b"], set_up_basic_logging=False)
    return Linker([api.register(a, dataset_display_name="a"), api.register(b, dataset_display_name="b")], model, log_level=None)


def main():
    model, path_a, path_b, path_pairs = sys.argv[1:]
    a, b = table(path_a), table(path_b)
    with open(model) as f:
        settings = json.load(f)
    predicted = linker(a, b, settings).inference.predict(threshold_match_weight=-5).as_pandas_dataframe()
    in_a = set(a.unique_id)
    theirs = {}
    for x, y, w in zip(predicted.unique_id_l, predicted.unique_id_r, predicted.match_weight):
        theirs[(x, y) if x in in_a else (y, x)] = 1 / (1 + 2.0 ** -w)
    with open(path_pairs, newline="", encoding="utf-8") as f:
        ours = {(r["a_id"], r["b_id"]): float(r["score"]) for r in csv.DictReader(f)}
    missing = [p for p in ours if p not in theirs]
    extra = [p for p, s in theirs.items() if s > FLOOR + TOLERANCE and p not in ours]
    worst = max((abs(s - theirs[p]) for p, s in ours.items() if p in theirs), default=0.0)
    print(f"splink {splink.__version__}: {len(ours)} pairs of arche, {len(theirs)} of splink above weight -5, "
          f"{len(missing)} missing, {len(extra)} extra, largest difference {worst:.2e}")
    return 1 if missing or extra or worst > TOLERANCE else 0


if __name__ == "__main__":
    sys.exit(main())

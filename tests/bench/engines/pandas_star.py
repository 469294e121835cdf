"""Rival: ``pandas.read_sql`` of ``SELECT *``, then the same groupby and sort as ``pandas_columns``.

Usage: ``python -m tests.bench.engines.pandas_star TRACE``
"""

import json
import sys

from tests.bench.engines.pandas_columns import digest

if __name__ == "__main__":
    json.dump(digest(sys.argv[1], star=True), sys.stdout)

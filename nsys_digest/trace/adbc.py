"""Batches through Apache Arrow's SQLite driver, below its DB-API layer: no Python object a value, no pandas.

The driver guesses each column's type from the first batch and fails when a later one differs
(github.com/apache/arrow-adbc/issues/581). Every such failure is a :class:`ReaderUnfitError`, and the caller reads the
file again with the standard library, which then knows whether anything is really wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.arrow_texts import distinct_texts
from nsys_digest.trace.connect import GUARDS
from nsys_digest.trace.source import ReaderUnfitError, Tail

BATCH_ROWS = 16_384
_ROOM_BYTES = 1 << 30


def available() -> bool:
    """Tell whether the driver and pyarrow can be imported."""
    try:
        import adbc_driver_manager  # noqa: F401
        import adbc_driver_sqlite  # noqa: F401
        import pyarrow  # noqa: F401
    except (ImportError, SystemError):  # SystemError: a library that finds no memory while it is loaded
        return False
    return True


def has_room() -> bool:
    """Tell whether memory is not limited so far that the driver may end the process, as C++ does without memory."""
    try:
        import resource
    except ImportError:  # not on this system
        return True
    limits = (resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return all(limit == resource.RLIM_INFINITY or limit >= _ROOM_BYTES for limit in limits)


class ArrowBatch:
    """One Arrow record batch, viewed without a copy; its columns have the names of the query."""

    def __init__(self, batch: Any) -> None:
        """Wrap a ``pyarrow.RecordBatch``."""
        self._batch = batch

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self._batch.num_rows)

    def ints(self, name: str) -> Int64s:
        """View an int64 column; raises :class:`ReaderUnfitError` when the driver took it for another type."""
        found: Int64s = self._view(name, "int64", np.int64)
        return found

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """View a column of doubles; raises :class:`ReaderUnfitError` when the driver took it for another type."""
        found: npt.NDArray[np.float64] = self._view(name, "double", np.float64)
        return found

    def _view(self, name: str, arrow_type: str, dtype: Any) -> Any:
        column = self._batch.column(name)
        if str(column.type) != arrow_type or column.null_count:
            raise ReaderUnfitError(f"column {name} came as {column.type} with {column.null_count} nulls")
        # not to_numpy(): that imports pandas where it is installed (github.com/apache/arrow/issues/34994)
        return np.frombuffer(column.buffers()[1], dtype, len(column), column.offset * 8)

    def texts(self, name: str, cut: Tail | None = None) -> tuple[Int64s, list[str]]:
        """Return a text column by its distinct values."""
        column = self._batch.column(name)
        if str(column.type) not in ("string", "binary") or column.null_count:
            raise ReaderUnfitError(f"column {name} came as {column.type} with {column.null_count} nulls")
        return distinct_texts(column, cut)


class AdbcConnection:
    """One connection of the driver; for one thread at a time."""

    def __init__(self, uri: str) -> None:
        """Open the database that an SQLite URI names."""
        import adbc_driver_manager as manager
        import adbc_driver_sqlite

        self._manager = manager
        with self._faults():
            self._database = manager.AdbcDatabase(driver=adbc_driver_sqlite._driver_path(), uri=uri)
            self._connection = manager.AdbcConnection(self._database)
            for guard in GUARDS:
                self._run(guard)

    def _run(self, sql: str) -> None:
        """Run a statement without a result that matters."""
        with closing(self._manager.AdbcStatement(self._connection)) as statement:
            statement.set_sql_query(sql)
            statement.execute_update()

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn an error of the driver into one that has the file read without it."""
        import pyarrow

        try:
            yield
        # UnicodeDecodeError: the driver's message quotes the file, and the manager reads it as UTF-8
        except (self._manager.Error, pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            raise ReaderUnfitError(repr(error)) from error

    def batches(self, sql: str) -> Iterator[ArrowBatch]:
        """Run a query and yield its rows."""
        import pyarrow

        with self._faults(), closing(self._manager.AdbcStatement(self._connection)) as statement:
            statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
            statement.set_sql_query(sql)
            stream, _ = statement.execute_query()
            with pyarrow.RecordBatchReader.from_stream(stream) as reader:
                for batch in reader:
                    yield ArrowBatch(batch)

    def close(self) -> None:
        """Close the connection and its database."""
        self._connection.close()
        self._database.close()

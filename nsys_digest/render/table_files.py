"""Arrow record batches as a file: Parquet, Arrow IPC, CSV or NDJSON, written batch by batch."""

from __future__ import annotations

from typing import Any, BinaryIO, Literal

from nsys_digest.render.records import lines_of

TableFormat = Literal["parquet", "arrow", "csv", "ndjson"]


def write_table(reader: Any, form: TableFormat, file: BinaryIO) -> None:
    """Write the rows of a ``RecordBatchReader`` to a file that is open for writing; it need not be one to seek in.

    Raises:
        OSError: it could not be written.

    """
    if form == "parquet":
        from pyarrow import parquet

        writer = parquet.ParquetWriter(file, reader.schema, compression="zstd")
        for batch in reader:
            writer.write_batch(batch)
        writer.close()  # not where something was raised: the file is given up then
    elif form == "arrow":
        from pyarrow import ipc

        stream = ipc.new_file(file, reader.schema)
        for batch in reader:
            stream.write_batch(batch)
        stream.close()
    else:
        for piece in lines_of(reader, form):
            file.write(piece)

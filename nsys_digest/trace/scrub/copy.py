"""The copy: table by table from the lists of what stays, in batches, into a new database without free pages."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from nsys_digest.errors import MissingData, UsageInvalid
from nsys_digest.model.scrubbed import KeptTable, Removed, Replaced
from nsys_digest.trace.nsys import scrub_rules as rules
from nsys_digest.trace.nsys.scrub_rules import ROLES, Treatment
from nsys_digest.trace.nsys.tables import STRINGS, THREAD_BITS
from nsys_digest.trace.scrub.log_words import LogWords
from nsys_digest.trace.scrub.names import Names, deciding
from nsys_digest.trace.scrub.texts import PrivateWords, Remembered, Salt
from nsys_digest.trace.sqlite import SqliteSource, quoted

Row: TypeAlias = tuple[object, ...]
_MOST_PROCESSES: Final = 10_000
_SETUP: Final = ("journal_mode = OFF", "synchronous = OFF", "temp_store = MEMORY")  # the file has no name yet


@dataclass(frozen=True, slots=True)
class Copied:
    """What was copied, and what was not."""

    removed: tuple[Removed, ...]
    replaced: tuple[Replaced, ...]
    kept: tuple[KeptTable, ...]


@dataclass(slots=True)
class _Copier:
    source: SqliteSource
    target: sqlite3.Connection
    names: Names
    words: PrivateWords
    salt: Salt
    log: LogWords = field(default_factory=LogWords)
    removed: list[Removed] = field(default_factory=list)
    kept: list[KeptTable] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    roles: dict[int, set[Treatment]] = field(default_factory=dict)

    def copy(self, keep: Collection[str]) -> None:
        """Copy every table that stays, strings last, when it is known which are named."""
        tables = self.source.tables()
        traced = self._traced_processes()
        for table in sorted(tables):
            if table in keep:
                self._as_it_is(table)
            elif table in rules.SETTINGS:
                self._settings(table)
            elif rules.enum_rows(table) is not None:
                self._enum(table)
            elif table != STRINGS:
                chosen = rules.treatments(table, tables[table])
                if chosen is None:
                    self._gone(table)
                elif chosen:
                    self._ruled(table, chosen, traced)
        self._strings()

    def _traced_processes(self) -> list[int]:
        """Return the process part of the ids of every row of what was traced, each once."""
        found: set[int] = set()
        for table, columns in self.source.tables().items():
            column = rules.process_column(columns)
            if rules.is_traced(table) and column is not None:
                term = f"DISTINCT {quoted(column)} & {~THREAD_BITS}"
                for rows in self.source.rows_at_once(table, (term,)):
                    found.update(value for (value,) in rows if isinstance(value, int))
        return sorted(found)[:_MOST_PROCESSES]

    def _ruled(self, table: str, chosen: Mapping[str, Treatment], traced: list[int]) -> None:
        columns = self.source.tables()[table]
        where, process = "TRUE", rules.process_column(columns)
        if rules.only_of_traced(table) and process is not None:
            where = f"({quoted(process)} & {~THREAD_BITS}) IN ({', '.join(map(str, traced))})"
        where = self._of_kept_samples(table, traced) or where
        terms = [_term(column, treatment, rules.is_text(table, column)) for column, treatment in chosen.items()]
        changes = {
            at: change
            for at, (column, treatment) in enumerate(chosen.items())
            if (change := self._change(treatment, text=rules.is_text(table, column))) is not None
        }
        batches = self.source.rows_at_once(table, terms, where)
        rows = self._fill(table, chosen, (_changed(batch, changes) for batch in batches))
        self._check_whole(table, rows, where)
        for column, treatment in chosen.items():
            if treatment in ROLES and not rules.is_text(table, column):
                self._note_roles(table, column, treatment, where)
        self._count_columns(table, [column for column in columns if column not in chosen])

    def _of_kept_samples(self, table: str, traced: list[int]) -> str | None:
        """Return the condition that takes the call stacks of the samples that stay; None of another table."""
        samples = rules.sample_table(table)
        columns = self.source.tables().get(samples or "", ())
        process = rules.process_column(columns)
        if samples is None or process is None or "id" not in columns or "id" not in self.source.tables()[table]:
            return None
        kept = f"({quoted(process)} & {~THREAD_BITS}) IN ({', '.join(map(str, traced))})"
        return f"id IN (SELECT id FROM {quoted(samples)} WHERE {kept})"

    def _check_whole(self, table: str, rows: int, where: str) -> None:
        if where == "TRUE":
            self.source.check_whole(table, rows)
            return
        there, _ = self.source.row_count(table, exact=True)
        self._take(table, "rows", "processes", there - rows)

    def _change(self, treatment: Treatment, *, text: bool) -> Callable[[Iterable[str]], Mapping[str, str]] | None:
        """Return what is done to the texts of a column; None of numbers, which stay."""
        if treatment is Treatment.number or (treatment in ROLES and not text):
            return None
        if treatment is Treatment.uuid:
            return lambda texts: {one: self._uuid(one) for one in texts}
        if treatment is Treatment.log:
            return lambda texts: {one: self.log.scrub(one) for one in texts}
        return Remembered(lambda texts: self.names.of_role(texts, treatment)).all

    def _uuid(self, text: str) -> str:
        if not text.strip("0-"):
            return "00000000-0000-0000-0000-000000000000" if text else text
        self.counts["uuid"] += 1
        return self.salt.uuid(text)

    def _note_roles(self, table: str, column: str, treatment: Treatment, where: str) -> None:
        for rows in self.source.rows_at_once(table, (f"DISTINCT {quoted(column)}",), where):
            for (value,) in rows:
                if isinstance(value, int):
                    self.roles.setdefault(value, set()).add(treatment)

    def _count_columns(self, table: str, columns: list[str]) -> None:
        """Count the values of columns that do not stay."""
        if not columns:
            return
        for rows in self.source.rows_at_once(table, [f"count({quoted(column)})" for column in columns]):
            for column, count in zip(columns, rows[0], strict=True):
                if isinstance(count, int):
                    self._take(table, f"column {column}", rules.kind_of_column(column), count)

    def _settings(self, table: str) -> None:
        columns = self.source.tables()[table]
        terms = [f"CAST({quoted(one)} AS TEXT)" if one in columns else "NULL" for one in ("name", "value")]
        gone: Counter[str] = Counter()

        def stays(row: Row) -> bool:
            name, value = ("" if row[0] is None else str(row[0])), None if row[1] is None else str(row[1])
            if rules.setting_stays(name, value):
                return True
            gone[rules.kind_of_setting(name)] += 1
            return False

        batches = self.source.rows_at_once(table, terms)
        kinds = {"name": Treatment.text, "value": Treatment.text}
        self._fill(table, kinds, ([row for row in batch if stays(row)] for batch in batches))
        for kind, count in sorted(gone.items()):
            self._take(table, "rows", kind, count)

    def _enum(self, table: str) -> None:
        """Write what nsys itself says of each number that is there."""
        known = rules.enum_rows(table) or {}
        there = {row[0] for row in self.source.rows(table, ("id",))}
        rows: list[Row] = [(number, *texts) for number, texts in known.items() if number in there]
        self._fill(table, {"id": Treatment.number, "name": Treatment.text, "label": Treatment.text}, [rows])

    def _gone(self, table: str) -> None:
        rows, _ = self.source.row_count(table, exact=True)
        self._take(table, "table", rules.kind_of_table(table), rows)

    def _as_it_is(self, table: str) -> None:
        columns = self.source.tables()[table]
        batches = self.source.rows_at_once(table, list(map(quoted, columns)))
        self.source.check_whole(table, self._fill(table, dict.fromkeys(columns), batches))

    def _strings(self) -> None:
        gone = 0

        def kept(rows: list[Row]) -> list[Row]:
            nonlocal gone
            by_role: defaultdict[Treatment, set[str]] = defaultdict(set)
            named = []
            for key, value in rows:
                if isinstance(key, int) and value is not None and key in self.roles:
                    role = deciding(self.roles[key])
                    by_role[role].add(str(value))
                    named.append((key, role, str(value)))
                else:
                    gone += 1
            texts = {role: self.names.of_role(values, role) for role, values in by_role.items()}
            return [(key, texts[role][value]) for key, role, value in named]

        terms = ("id", "CASE WHEN value IS NOT NULL THEN CAST(value AS TEXT) END")
        batches = self.source.rows_at_once(STRINGS, terms) if _has_texts(self.source) else ()
        self._fill(STRINGS, {"id": Treatment.number, "value": Treatment.text}, map(kept, batches))
        self._take(STRINGS, "rows", "strings that nothing in the copy names", gone)

    def _fill(self, table: str, columns: Mapping[str, Treatment | None], batches: Iterable[list[Row]]) -> int:
        """Make a table and fill it; return its rows."""
        key = " PRIMARY KEY" if table == STRINGS else ""
        made = [
            f"{quoted(name)}{rules.type_of(name, how)}{key if how is Treatment.number else ''}"
            for name, how in columns.items()
        ]
        self.target.execute(f"CREATE TABLE {quoted(table)} ({', '.join(made)})")
        insert = f"INSERT OR REPLACE INTO {quoted(table)} VALUES ({', '.join('?' * len(columns))})"
        count = 0
        for rows in batches:
            self.target.executemany(insert, rows)
            count += len(rows)
        self.kept.append(KeptTable(table, count))
        return count

    def _take(self, table: str, what: str, kind: str, count: int) -> None:
        if count > 0:
            self.removed.append(Removed(table, what, kind, count))


def copy_scrubbed(
    source: SqliteSource, to: Path, names: Names, words: PrivateWords, salt: Salt, keep: Collection[str]
) -> Copied:
    """Copy what stays of a trace into an empty file.

    Raises:
        MissingData: there is no table to keep of that name. UsageInvalid: it is copied by rules of its own.
        sqlite3.Error: the copy cannot be written. What reading the source raises.

    """
    _check_keep(source, keep)
    with closing(sqlite3.connect(to, isolation_level=None)) as target:
        for setup in _SETUP:
            target.execute(f"PRAGMA {setup}")
        target.execute("BEGIN")
        copier = _Copier(source, target, names, words, salt)
        copier.copy(keep)
        target.execute("COMMIT")
    counts = words.counts + copier.counts + Counter({"diagnostic": copier.log.changed_count})
    replaced = tuple(Replaced(kind, count) for kind, count in sorted(counts.items()) if count)
    order = sorted(copier.removed, key=lambda one: (one.table, one.what, one.kind))
    return Copied(tuple(order), replaced, tuple(sorted(copier.kept, key=lambda one: one.name)))


def _check_keep(source: SqliteSource, keep: Collection[str]) -> None:
    for table in keep:
        if rules.is_ruled(table):
            raise UsageInvalid(f"--keep {table}: this table is copied in any case, by rules of its own; leave it out")
        if table not in source.tables() or table.lower().startswith("sqlite_"):
            there = sorted(name for name in source.tables() if not rules.is_ruled(name))
            named = f"those that would be dropped: {', '.join(there[:8])}" if there else "no table would be dropped"
            raise MissingData(f"{source.path}: it has no table {table} to keep; {named}")


def _term(column: str, treatment: Treatment, text: bool) -> str:
    name = quoted(column)
    if treatment is Treatment.number or (treatment in ROLES and not text):
        return f"CASE WHEN typeof({name}) IN ('integer', 'real') THEN {name} END"
    return f"CASE WHEN {name} IS NOT NULL THEN CAST({name} AS TEXT) END"


def _changed(rows: list[Row], changes: Mapping[int, Callable[[Iterable[str]], Mapping[str, str]]]) -> list[Row]:
    """Return rows with the texts of some columns changed."""
    if not changes:
        return rows
    columns = [list(column) for column in zip(*rows, strict=True)]
    for at, change in changes.items():
        texts = change({value for value in columns[at] if isinstance(value, str)})
        columns[at] = [texts[value] if isinstance(value, str) else None for value in columns[at]]
    return list(zip(*columns, strict=True))


def _has_texts(source: SqliteSource) -> bool:
    return {"id", "value"} <= set(source.tables().get(STRINGS, ()))


def texts_of(source: SqliteSource) -> Iterator[tuple[str, set[str]]]:
    """Yield (table, texts) of what is no number in a file, in batches."""
    for table, columns in source.tables().items():
        for column in columns:
            name = quoted(column)
            for rows in source.rows_at_once(table, (f"CAST({name} AS TEXT)",), f"typeof({name}) IN ('text', 'blob')"):
                yield table, {str(value) for (value,) in rows}

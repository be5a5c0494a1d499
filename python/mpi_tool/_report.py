"""Reading reports."""

import json
from pathlib import Path

from . import _check
from ._check import ReportError
from ._table import Table

SCHEMA = "mpi-tool-report/2"

#: So many pairs of ranks are gone through: more do not fit into memory.
_MOST_PAIRS = 1 << 24

# What comes before the report in a page of `mpi-tool report -o page.html`.
_PAGE = '<script type="application/json" id="mpi-tool-report">'


class Report:
    """A report: its tables, and its other fields as they are in JSON (``report.fields["wall"]["most"]``)."""

    def __init__(self, fields):
        if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
            schema = fields.get("schema") if isinstance(fields, dict) else None
            schema = schema if isinstance(schema, (str, type(None))) else f"a {type(schema).__name__}"
            raise ReportError(f"not a report of schema {SCHEMA}: the schema is {schema!r:.60}")
        _check.report(fields)
        self._fill(fields)

    def _fill(self, fields):
        self.fields = fields
        self.tool = fields["tool"]
        self.complete = fields["complete"]
        self.ranks = fields["ranks"]
        communicators = fields.get("communicators") or []
        #: A line for each function and call site, with the names of site and communicator.
        self.rows = Table(self._row(row, communicators) for row in fields["rows"])
        #: A line for each function around a call: ``site`` and ``depth`` from 1.
        self.sites = Table(
            {"site": site, "depth": depth, **frame}
            for site, places in enumerate(fields["sites"], 1)
            for depth, frame in enumerate(self._frames(places), 1)
        )
        self.communicators = Table(
            {"number": number, **known} for number, known in enumerate(communicators, 1) if known
        )
        hosts = fields.get("hosts") or []
        self.hosts = Table({name: value for name, value in host.items() if name != "by_rank"} for host in hosts)
        #: A line for each rank: its host, its wall time and its time in MPI, in nanoseconds.
        self.by_rank = Table(
            sorted(
                (
                    {"rank": rank, "host": host["name"], "wall": wall, "inside": inside}
                    for host in hosts
                    if host.get("by_rank")
                    for rank, wall, inside in zip(*(host["by_rank"][name] for name in ("rank", "wall", "inside")))
                ),
                key=lambda line: line["rank"],
            )
        )
        #: A line for each phase of which is known how long it took, with its times and efficiencies.
        self.phases = Table(fields.get("phases") or [])
        #: A line for each function and peer, as docs/report.md says.
        self.matrix = Table(fields.get("matrix") or [])

    def _row(self, row, communicators):
        row = dict(row)
        site, communicator = row.get("site"), row.get("communicator")
        if isinstance(site, int):
            row["place"] = " < ".join(_place(frame) for frame in self._frames(self.fields["sites"][site - 1]))
        if isinstance(communicator, int) and communicators[communicator - 1]:
            row["communicator_name"] = communicators[communicator - 1]["name"]
        return row

    @staticmethod
    def _frames(places):
        for place in places:
            for frame in place.get("frames") or [{"function": None, "file": None, "line": None}]:
                yield {**frame, "object": place["file"], "offset": place["offset"]}

    def pairs(self, flow="sent"):
        """Who has sent how much to whom: a line for each pair of ranks, added up over functions."""
        sums = {}
        entries = [
            entry
            for entry in self.fields.get("matrix") or []
            if entry["flow"] == flow and isinstance(entry["peer"], int) and entry["ranks"] is not None
        ]
        pairs = sum(length * count for entry in entries for _, length, _, count in entry["ranks"])
        if pairs > _MOST_PAIRS:
            raise ReportError(f"the matrix has {pairs} pairs of ranks, and at most {_MOST_PAIRS} can be listed")
        for entry in entries:
            for first, length, stride, count in entry["ranks"]:
                for start in (first + stride * block for block in range(count)):
                    for rank in range(start, start + length):
                        peer = rank + entry["peer"]
                        pair = (rank, peer) if flow == "sent" else (peer, rank)
                        sum_ = sums.setdefault(pair, [0, 0])
                        sum_[0] += entry["messages"]
                        sum_[1] += entry["bytes"]
        return Table(
            {"source": source, "destination": destination, "messages": messages, "bytes": bytes_}
            for (source, destination), (messages, bytes_) in sorted(sums.items())
        )


def _place(frame):
    """``solver.c:12 solve``, or what is known of it."""
    name = frame["object"].rsplit("/", 1)[-1]
    if frame.get("file"):
        where = f"{frame['file'].rsplit('/', 1)[-1]}:{frame['line']}"
    else:
        where = f"{name}+{frame['offset']:#x}"
    return f"{where} {frame['function']}" if frame.get("function") else where


def loads(text):
    """The report in a text: JSON, or a page."""
    if _PAGE in text:
        text = text.split(_PAGE, 1)[1].split("</script>", 1)[0]
    try:
        fields = json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"not a report in JSON: {error}") from error
    return Report(fields)


def _refused(constant):
    """``NaN`` and ``Infinity``, which Python reads and JSON does not have."""
    raise ValueError(f"{constant} is no number of JSON")


def load(path):
    """The report in a file, which is JSON or a page, or in the folder of a run with one report of all ranks.

    Source lines are there if `mpi-tool` has written the file: ``mpi-tool report profile.json --to json -o lines.json``.
    """
    path = Path(path)
    if path.is_dir():
        found = []
        for file in sorted(path.glob("*.json")):
            try:
                report = load(file)
            except ReportError:
                continue
            if report.complete:
                found.append(report)
        if len(found) != 1:
            raise ReportError(f"{path} has {len(found)} reports of all ranks: name one file")
        return found[0]
    try:
        return loads(path.read_text(encoding="utf-8"))
    except (ReportError, UnicodeDecodeError) as error:
        raise ReportError(f"{path}: {error}") from error

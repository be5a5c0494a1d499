"""Reports that nobody should write: what Python's package makes of them, and files of them for other readers.

    malformed.py WHOLE.json SEED FOLDER COUNT

reads a report, breaks it in every place in every way, and has the package `mpi_tool` load all of these. Each must be a
report whose tables can be used, or a ReportError that says what is wrong. COUNT files of them are left in FOLDER. The last
line of standard output is an object with how many were read and refused.
"""

import copy
import json
import random
import sys
from pathlib import Path

import mpi_tool

SCRIPT = "</script><script>alert(1)</script>"

#: What may stand where something else should.
VALUES = [
    None,
    True,
    -1,
    0,
    1,
    1.5,
    1e300,
    2**63,
    2**64,
    10**400,
    4_000_000_000,
    "",
    SCRIPT,
    "others",
    [],
    {},
    [[0, 2**63, 1, 2**63]],
    [[0, 4_000_000_000, 0, 1]],
    [None, SCRIPT, {"a": [SCRIPT]}],
    {"sum": SCRIPT, SCRIPT: 1},
]

#: The same in JSON that Python does not write.
RAW = ["NaN", "Infinity", "-Infinity", "1e999", "-0.0", '"\\ud800"', '"\\u0000"', "01", "9" * 5000]

MARK = "a place for something else"


def places(value, path=()):
    """All paths to values."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        yield from places(item, (*path, name))


def changed(whole, path, value):
    """The report with another value in a place."""
    if not path:
        return value
    report = copy.deepcopy(whole)
    at = report
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    return report


def without(whole, path):
    report = copy.deepcopy(whole)
    at = report
    for name in path[:-1]:
        at = at[name]
    del at[path[-1]]
    return report


def dumped(report):
    return json.dumps(report).encode()


def cases(whole, chance):
    """Yields what each is called, and its bytes."""
    all_places = list(places(whole))
    for path in all_places:
        name = ".".join(map(str, path)) or "all"
        if path:
            yield f"without {name}", dumped(without(whole, path))
        for value in VALUES:
            yield f"{name} is {str(value)[:20]}", dumped(changed(whole, path, value))
        text = dumped(changed(whole, path, MARK))
        for raw in RAW:
            yield f"{name} is {raw[:20]}", text.replace(json.dumps(MARK).encode(), raw.encode())
        deep = chance.choice([20, 50, 500, 5_000, 100_000])
        nested = b"[" * deep + b"]" * deep if chance.random() < 0.5 else b'{"a":' * deep + b"1" + b"}" * deep
        yield f"{name} is {deep} deep", text.replace(json.dumps(MARK).encode(), nested)
    bytes_ = dumped(whole)
    for _ in range(500):
        end = chance.randrange(len(bytes_))
        yield f"ends after {end}", bytes_[:end]
        at = chance.randrange(len(bytes_))
        broken = bytes([chance.randrange(256)])
        yield f"byte {at} is {broken!r}", bytes_[:at] + broken + bytes_[at + 1 :]
        several = whole
        for _ in range(3):
            several = changed(several, chance.choice(list(places(several))), chance.choice(VALUES))
        if isinstance(several, dict):
            # Without this, most are refused at once.
            several["schema"] = whole["schema"]
        yield "three changes", dumped(several)
    for name, start in [("UTF-16", b"\xff\xfe"), ("a byte order mark", b"\xef\xbb\xbf"), ("no text", b"\xc3\x28")]:
        yield name, start + bytes_
    yield "nothing", b""
    yield "a page without an end", b'<script type="application/json" id="mpi-tool-report">' + bytes_


def used(report):
    """Everything that the tables can do."""
    tables = [report.rows, report.sites, report.communicators, report.hosts, report.by_rank, report.matrix, report.phases]
    for table in [*tables, report.pairs(), report.pairs("received")]:
        for name in table.columns:
            table.column(name)
    for name in ("calls", "time_sum", "wait_sum", "ranks"):
        if name in report.rows.columns:
            report.rows.sorted(name)
            report.rows.sums("function", name)
    report.rows.where(function="MPI_Send") if len(report.rows) else None


def main():
    whole = json.loads(Path(sys.argv[1]).read_text())
    chance = random.Random(int(sys.argv[2]))
    folder, count = Path(sys.argv[3]), int(sys.argv[4])
    used(mpi_tool.Report(copy.deepcopy(whole)))
    everything = list(cases(whole, chance))
    kept = set(chance.sample(range(len(everything)), count))
    read = refused = 0
    file = folder / "now.json"
    for number, (name, bytes_) in enumerate(everything):
        file.write_bytes(bytes_)
        try:
            used(mpi_tool.load(file))
            read += 1
        except mpi_tool.ReportError as error:
            refused += 1
            if len(str(error)) <= len(str(file)) + 10:
                print(f"{name}: says nothing: {error}")
        except BaseException as error:
            print(f"{name}: {type(error).__name__}: {error}"[:300])
        if number in kept:
            (folder / f"case{number}.json").write_bytes(bytes_)
    file.unlink()
    # What a program has made, and not read, may be in itself.
    for name in ("rows", "sites", "hosts", "more"):
        cycle = copy.deepcopy(whole)
        cycle.setdefault(name, []).append(cycle)
        inner = cycle["rows"][0]["more"] = []
        inner += [inner, inner]
        try:
            mpi_tool.Report(cycle)
            print(f"a cycle in {name}: was read")
        except mpi_tool.ReportError:
            refused += 1
    print(json.dumps({"read": read, "refused": refused}))


main()

"""What a report must be like, so that its tables can be made: `docs/report.md` describes all fields.

A check takes a value and its place in the report (``rows[3].time.sum``), and raises ``ReportError`` with both where the
value is wrong. Fields that nobody here knows are let through: later versions may have them.
"""

#: More is no number that a tool counts: it has 64 bits.
_MOST = 1 << 64

#: So many ranks a report may speak of: more are no world's.
_MOST_RANKS = 1 << 32

#: So deep fields may be in each other. Those of a report are six deep.
_DEEPEST = 40


class ReportError(ValueError):
    """A file is no report, or not one that can be shown as tables."""


def _wrong(where, value, wanted):
    shown = repr(value) if isinstance(value, (str, int, float, bool, type(None))) else f"a {type(value).__name__}"
    if len(shown) > 60:
        shown = shown[:57] + "..."
    raise ReportError(f"not as a report should be: {where} is {shown}, and should be {wanted}")


def text(value, where):
    if not isinstance(value, str):
        _wrong(where, value, "a text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        _wrong(where, ascii(value), "a text of Unicode characters")


def truth(value, where):
    if not isinstance(value, bool):
        _wrong(where, value, "true or false")


def integer(value, where, least=-_MOST):
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < _MOST:
        _wrong(where, value, "a whole number" if least < 0 else f"a whole number from {least} on")


def count(value, where):
    integer(value, where, 0)


def number(value, where):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # NaN is not between any two.
    if not is_number or not 0 <= value < _MOST:
        _wrong(where, value, "a number from 0 on")


def one_of(*values):
    def check(value, where):
        if not isinstance(value, (str, type(None))) or value not in values:
            _wrong(where, value, " or ".join(map(repr, values)))

    return check


def optional(check):
    def or_null(value, where):
        if value is not None:
            check(value, where)

    return or_null


def many(check, most=None):
    def all_of(value, where):
        if not isinstance(value, list):
            _wrong(where, value, "a list")
        if most is not None and len(value) > most:
            raise ReportError(f"not as a report should be: {where} has {len(value)} elements, and may have {most}")
        for index, inner in enumerate(value):
            check(inner, f"{where}[{index}]")

    return all_of


def fields_of(needed, others=None):
    def check(value, where):
        if not isinstance(value, dict):
            _wrong(where or "the report", value, "an object")
        for name in needed:
            if name not in value:
                raise ReportError(f"not as a report should be: {where or 'the report'} has no field {name}")
        for name, inner in value.items():
            check = needed.get(name) or (others or {}).get(name)
            here = f"{where}.{name}" if where else str(name)
            text(name, f"a name in {where or 'the report'}")
            if check:
                check(inner, here)
            else:
                anything(inner, here)

    return check


def anything(value, where):
    """Any JSON, if it is not so deep that nobody can go through it."""
    level = [value]
    for _ in range(_DEEPEST):
        deeper = []
        # Each once: in what a program has made, and not read, one may be in several others, or in itself.
        for inner in {id(inner): inner for inner in level}.values():
            if isinstance(inner, dict):
                deeper += [*inner.keys(), *inner.values()]
            elif isinstance(inner, list):
                deeper += inner
            elif isinstance(inner, str):
                text(inner, where)
        if not deeper:
            return
        level = deeper
    raise ReportError(f"not as a report should be: {where} has more than {_DEEPEST} levels")


_SPREAD = fields_of(
    {"least": number, "least_rank": count, "most": number, "most_rank": count}, {"sum": number, "mean": number}
)
_MEASURED = fields_of(
    {"count": count, "sum": count},
    {
        "mean": number,
        "least": count,
        "least_rank": count,
        "most": count,
        "most_rank": count,
        "variation": number,
        "by_rank": _SPREAD,
        "estimated": truth,
    },
)
_HOST = fields_of(
    {"name": text, "ranks": count},
    {"useful": _SPREAD, "by_rank": fields_of({"rank": many(count), "wall": many(count), "inside": many(count)})},
)
_FRAME = fields_of({"function": optional(text), "file": optional(text), "line": optional(count)})
_PLACE = fields_of({"file": text, "offset": count}, {"build_id": text, "frames": optional(many(_FRAME))})
_COMMUNICATOR = fields_of({"name": text, "size": count}, {"identity": text, "remote_size": optional(count)})
_ROW = fields_of({"function": text}, {"ranks": count})


def _peer(value, where):
    if isinstance(value, int) and not isinstance(value, bool):
        integer(value, where)
    else:
        one_of(None, "outside", "unknown", "others")(value, where)


def _block(value, where):
    many(count)(value, where)
    if len(value) != 4:
        _wrong(where, value, "a list of four numbers")


_ENTRY = fields_of(
    {
        "function": text,
        "flow": one_of("sent", "received"),
        "peer": _peer,
        "messages": count,
        "bytes": count,
        "ranks": optional(many(_block)),
    }
)
_STRETCHES = fields_of({"rank": count, "ranks": count, "width": count, "permille": many(count, 200)})
_EFFICIENCY = fields_of(dict.fromkeys(("parallel", "load_balance", "communication"), number))
_PHASE = fields_of(
    {"phase": count, "ranks": count, "wall": _SPREAD, "inside": _SPREAD, "useful": _SPREAD},
    {"efficiency": optional(_EFFICIENCY)},
)
_NAMED = {"name": text}
_REPORT = fields_of(
    {
        "tool": text,
        "version": text,
        "complete": truth,
        "ranks": optional(count),
        "wall": _SPREAD,
        "inside": _SPREAD,
        "share": _SPREAD,
        "lost": count,
        "events": text,
        "measures": many(fields_of({"name": text, "unit": text})),
        "sites": many(many(_PLACE)),
        "rows": many(_ROW),
    },
    {
        "rank": optional(count),
        "reason": optional(text),
        "useful": optional(_SPREAD),
        "overhead": optional(_SPREAD),
        "preempted": optional(_SPREAD),
        "efficiency": optional(_EFFICIENCY),
        "phases": many(_PHASE),
        "hosts": many(_HOST),
        "keys": many(fields_of(_NAMED)),
        "communicators": many(optional(_COMMUNICATOR)),
        "timeline": many(_STRETCHES),
        "matrix": optional(many(_ENTRY)),
    },
)


def report(fields):
    """Checks a report.

    Raises ``ReportError`` with what is wrong, and where.
    """
    _REPORT(fields, "")
    hosts = fields.get("hosts", [])
    for index, host in enumerate(hosts):
        lists = [host["by_rank"][name] for name in ("rank", "wall", "inside")] if "by_rank" in host else []
        if len({len(values) for values in lists}) > 1:
            raise ReportError(f"not as a report should be: the lists of hosts[{index}].by_rank differ in length")
    _rows(fields)
    _matrix(fields)


def _rows(fields):
    """The rows name sites and communicators that are there, and have what the report says of them."""
    events = fields["events"]
    measures = [measure["name"] for measure in fields["measures"]]
    numbered = {"site": len(fields["sites"]), "communicator": len(fields.get("communicators", []))}
    for index, row in enumerate(fields["rows"]):
        where = f"rows[{index}]"
        if events not in row:
            raise ReportError(f"not as a report should be: {where} has no field {events}")
        count(row[events], f"{where}.{events}")
        for name in measures:
            optional(_MEASURED)(row.get(name), f"{where}.{name}")
        for name in ("site", "communicator", "size", "phase"):
            value = row.get(name)
            if value is None or isinstance(value, str):
                one_of(None, "others", "unknown")(value, f"{where}.{name}")
                continue
            count(value, f"{where}.{name}")
            there = numbered.get(name)
            if there is not None and not 1 <= value <= there:
                raise ReportError(
                    f"not as a report should be: {where}.{name} is {value}, and there are {there} of them"
                )


def _matrix(fields):
    """The blocks of ranks, and their peers, are of this world."""
    world = fields["ranks"] or _MOST_RANKS
    for index, entry in enumerate(fields.get("matrix") or []):
        for first, length, stride, blocks in entry["ranks"] or []:
            last = first + stride * (blocks - 1) + length - 1
            where = f"matrix[{index}]"
            if length < 1 or blocks < 1 or last >= world:
                raise ReportError(f"not as a report should be: {where} has ranks that are not in this world")
            peer = entry["peer"]
            if isinstance(peer, int) and not (0 <= first + peer and last + peer < world):
                raise ReportError(f"not as a report should be: {where} has a peer that is not in this world")

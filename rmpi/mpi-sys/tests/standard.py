"""Prints what the MPI Forum's machine-readable standard says of every C function.

One tab-separated line a function: its C name and its signature as the function
list (`rmpi/facts/src/list.rs`) writes it. Needs the package `pympistandard` 0.2.0.

The removed functions of MPI-1 are not in the data set; the headers check them.
"""

import re
import sys

import pympistandard as std

SCALARS = {"int": "c_int", "char": "c_char", "double": "f64", "void": "c_void"}
KEYWORDS = {"type", "in", "ref", "move", "match", "use", "where", "loop", "fn", "mod"}


def kind_name(kind: str) -> str:
    """POLYXFER_NUM_ELEM_NNI -> XferNumElem: the kind without its value range and width."""
    kind = re.sub(r"^POLY", "", kind)
    kind = re.sub(r"(_NNI|_PI|_SMALL|_SPECIAL|_OPTIONAL|_10|2)$", "", kind)
    return "".join(word.capitalize() for word in kind.split("_"))


def rust_type(base: str, constant: bool, depth: int, inner_array: str) -> str:
    rust = SCALARS.get(base, base)
    if inner_array:
        return f"*mut [{rust}; {inner_array}]"
    for level in range(depth):
        rust = ("*const " if constant and level == 0 else "*mut ") + rust
    return rust


def parameter(p) -> str:
    data = p._parseset
    name = p.name + "_" if p.name in KEYWORDS else p.name
    depth, inner = p.pointer_level, ""
    brackets = re.findall(r"\[(\d*)\]", p.array)
    if len(brackets) == 2:
        inner = brackets[1]
    else:
        depth += len(brackets)
    base = str(p.base_type).split()[-1]
    if re.search(r"_function(_c)?$", base):  # a pointer to a function is an Option<fn>
        depth = 0
    if data["kind"] == "ARGUMENT_LIST" and depth == 1:
        depth = 2  # MPI_Info_create_env: the data set has `char argv[]`, every mpi.h `char **`
    rust = rust_type(base, bool(data["constant"]), depth, inner)
    length = data["length"]
    if isinstance(length, list):
        length = length[0]
    extent = f" [{length}]" if length and length != "*" else ""
    root = " root" if data["root_only"] else ""
    return f"{name}: {rust} = {data['lis_direction']} {kind_name(data['kind'])}{extent}{root}"


def signature(symbol) -> str:
    parameters = [p for p in symbol.parameters if p._parseset["kind"] != "VARARGS"]
    returns = SCALARS.get(symbol.return_type, symbol.return_type)
    return f"({', '.join(map(parameter, parameters))}) -> {returns}"


def main() -> None:
    std.use_api_version(1, force_bundled=True)
    rows = {}
    for procedure in std.PROCEDURES.values():
        express = procedure.express
        if express.iso_c is None:
            continue
        rows[express.iso_c.name] = signature(express.iso_c)
        if procedure.has_embiggenment():
            rows[express.embiggen.iso_c.name] = signature(express.embiggen.iso_c)
    for name in sorted(rows):
        print(name, rows[name], sep="\t")


if __name__ == "__main__":
    sys.exit(main())

"""Calls MPI_Barrier at the end of random chains of calls, and writes from which lines, by Python's own traceback.

Arguments: the file to write, without the rank; how many chains each thread has; how many threads there are beside the first one.
"""
import collections
import functools
import json
import random
import sys
import threading
import traceback

from mpi4py import MPI

comm = MPI.COMM_SELF
told = collections.Counter()
lock = threading.Lock()


def note(frame):
    """Counts the call that the frame's line makes next: by four functions, from the first one of this script's on."""
    where = tuple(
        (getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, line)
        for f, line in traceback.walk_stack(frame)
    )
    with lock:
        told[where[:4]] += 1


def leaf():
    note(sys._getframe()); comm.Barrier()


def step(chain):
    if not chain:
        return leaf()
    KINDS[chain[0]](chain[1:])


def plain(chain):

    step(chain)


def gen(chain):
    def g():
        yield step(chain)
    list(g())


def by_c(chain):
    sorted([1], key=lambda _: step(chain) or 0)


def part(chain):
    functools.partial(step, chain)()


def again(chain):
    lines = "\n" * random.randrange(40)
    space = {"step": step}
    exec(compile("def made(chain):\n" + lines + "    step(chain)\n", "<made>", "exec"), space)
    space["made"](chain)


def inline(chain):
    lines = "\n" * random.randrange(40)
    space = {"note": note, "comm": comm, "sys": sys}
    exec(compile("def made():\n" + lines + "    note(sys._getframe()); comm.Barrier()\n", "<made>", "exec"), space)
    space["made"]()


class Thing:
    def method(self, chain):
        [step(chain) for _ in range(2)]


KINDS = [plain, gen, by_c, part, again, Thing().method, inline, lambda c: step(c)]


def work(seed, count):
    for _ in range(count):
        step([random.randrange(len(KINDS)) for _ in range(random.randrange(8))])


random.seed(5 + MPI.COMM_WORLD.rank)
name, count, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
work(0, count)
threads = [threading.Thread(target=work, args=(i, count)) for i in range(threads)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(f"{name}-{MPI.COMM_WORLD.rank}.json", "w") as file:
    json.dump([[list(where), count] for where, count in told.items()], file)

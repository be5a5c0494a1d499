"""The first process hands out work, and the others do it."""

from mpi4py import MPI

PARTS, NUMBERS = 20, 500
WORK, STOP, RESULT = range(3)


def steps(n):
    """Until 1: half of an even number, or 3 n + 1."""
    count = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        count += 1
    return count


def longest(part):
    first = part * NUMBERS + 1
    start = max(range(first, first + NUMBERS), key=steps)
    return start, steps(start)


def work(world):
    status = MPI.Status()
    while True:
        part = world.recv(source=0, status=status)
        if status.tag == STOP:
            return
        world.send((part, longest(part)), 0, RESULT)


def hand_out(world):
    parts = iter(range(PARTS))
    chains = [None] * PARTS
    status = MPI.Status()

    def send_next(worker):
        part = next(parts, None)
        tag = STOP if part is None else WORK
        world.send(part, worker, tag)
        return tag == WORK

    busy = sum([send_next(i) for i in range(1, world.size)])
    while busy > 0:
        part, chain = world.recv(tag=RESULT, status=status)
        chains[part] = chain
        busy -= not send_next(status.source)
    # A process without others does it alone.
    for part in parts:
        chains[part] = longest(part)
    return chains


world = MPI.COMM_WORLD
if world.rank != 0:
    work(world)
else:
    chains = hand_out(world)
    for i in range(0, PARTS, 5):
        start, count = chains[i]
        print(f"part {i}: {start} takes {count} steps")

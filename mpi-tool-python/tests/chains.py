"""Calls functions of all kinds in random order, says where it stands by Python's own traceback, and waits there."""
import ctypes
import functools
import json
import os
import random
import sys
import threading
import traceback

sys.setrecursionlimit(5000)


def told(frame):
    """What Python says of a frame and its callers."""
    return [
        [getattr(f.f_code, "co_qualname", f.f_code.co_name), f.f_code.co_filename, line]
        for f, line in traceback.walk_stack(frame)
    ]


def say(value):
    os.write(1, (json.dumps(value) + "\n").encode())


def leaf(chain, end):
    x = [1,
         2]; end(told(sys._getframe()))
    return x


def plain(chain, end):

    return step(chain, end)


def step(chain, end):
    if not chain:
        return leaf(chain, end)
    return KINDS[chain[0]](chain[1:], end)


class Thing:
    def method(self, chain, end):
        try:
            pass
        finally:
            step(
                chain,
                end,
            )

    @staticmethod
    def still(chain, end):
        def inner():
            return step(chain, end)

        return inner()

    def __lt__(self, other):
        step(self.chain, self.end)
        return True


def by_generator(chain, end):
    def numbers():
        yield 1
        yield step(chain, end)

    for number in numbers():
        pass


def by_c(chain, end):
    return sorted([2], key=lambda _: step(chain, end) or 0)


def by_comparison(chain, end):
    one, other = Thing(), Thing()
    for it in (one, other):
        it.chain, it.end = chain, end
    sorted([one, other])


def by_partial(chain, end):
    functools.partial(step, chain)(end)


def by_list(chain, end):
    return [
        step(chain, end)
        for _ in range(1)
    ]


def by_coroutine(chain, end):
    async def inner():
        return step(chain, end)

    async def outer():
        return await inner()

    try:
        outer().send(None)
    except StopIteration:
        pass


def by_exec(chain, end):
    # Another code object at each call, often where one was before.
    lines = "\n" * random.randrange(400)
    code = "def made(chain, end):\n" + lines + "    return step(chain, end)\n"
    space = {"step": step}
    exec(compile(code, "<made %d>" % random.randrange(3), "exec"), space)
    space["made"](chain, end)


def größe_名(chain, end): step(chain, end)


def by_callback(chain, end):
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def compare(one, other):
        if not done:
            done.append(1)
            step(chain, end)
        return 0

    done = []
    numbers = (ctypes.c_int * 2)(1, 2)
    ctypes.CDLL(None).qsort(numbers, 2, 4, kind(compare))


KINDS = [
    plain, step, Thing().method, Thing.still, by_generator, by_c, by_comparison, by_partial, by_list, by_coroutine,
    by_exec, größe_名, by_callback, lambda chain, end: step(chain, end),
]
space = {"step": step}
exec(compile("def 文(chain, end):\n  step(chain, end)\n", "/tmp/\u20ac.py", "exec"), space)
KINDS.append(space["文"])


def chain():
    return [random.randrange(len(KINDS)) for _ in range(random.randrange(20))]


def one_by_one(count):
    def end(stack):
        say({"threads": {str(threading.get_ident()): stack[:]}, "kernel": {str(threading.get_ident()): kernel()}}); os.read(0, 1)

    for _ in range(count):
        step(chain(), end)


def kernel():
    return threading.get_native_id()


def together(count):
    said, ids, ready, go = {}, {}, threading.Semaphore(0), threading.Lock()
    go.acquire()

    def end(stack):
        said[threading.get_ident()] = stack; ids[threading.get_ident()] = kernel(); ready.release(); go.acquire()
        go.release()

    threads = [threading.Thread(target=step, args=(chain(), end)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for _ in threads:
        ready.acquire()
    say({"threads": said, "kernel": ids}); os.read(0, 1)
    go.release()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    random.seed(int(sys.argv[1]))
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    say({"runtime": runtime, "version": sys.hexversion})
    os.read(0, 1)
    one_by_one(int(sys.argv[2]))
    for _ in range(int(sys.argv[3])):
        together(8)
    say({})

"""Runs mpi4py's own test suite and writes what came of each test.

Usage: suite.py RESULTS [OPTIONS OF THE SUITE ...]

PYTHONPATH has the suite, the folder `test` of mpi4py's source distribution: processes that it
spawns want it too. Each rank writes RESULTS.<rank>: a line "name outcome" as soon as a test has
ended, then "end", when all have. So it tells after a hang how far the rank came. Spawned workers
import this file, and do nothing then.
"""

import sys
import unittest


class Result(unittest.TextTestResult):
    """What came of a test, in a line."""

    lines = None

    def write(self, test, outcome):
        print(test.id(), " ".join(outcome.split()), file=self.lines, flush=True)

    def startTest(self, test):
        self.outcome = "ok"
        super().startTest(test)

    def stopTest(self, test):
        self.write(test, self.outcome)
        super().stopTest(test)

    def came_out(self, test, outcome):
        self.outcome = outcome
        if not isinstance(test, unittest.TestCase):
            # The setting up of a class or of a module, which nobody starts or stops.
            self.write(test, outcome)

    def addError(self, test, error):
        self.came_out(test, "ERROR")
        super().addError(test, error)

    def addFailure(self, test, error):
        self.came_out(test, "FAIL")
        super().addFailure(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.came_out(test, "FAIL")
        super().addSubTest(test, subtest, error)

    def addSkip(self, test, reason):
        self.came_out(test, f"skipped {reason}")
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, error):
        self.came_out(test, "expected failure")
        super().addExpectedFailure(test, error)

    def addUnexpectedSuccess(self, test):
        self.came_out(test, "unexpected success")
        super().addUnexpectedSuccess(test)


class Runner(unittest.TextTestRunner):
    """The usual one with our result."""

    resultclass = Result


def run():
    """All tests."""
    results = sys.argv.pop(1)
    sys.dont_write_bytecode = True
    import main
    from mpi4py import MPI

    rank = MPI.COMM_WORLD.Get_rank()
    with open(f"{results}.{rank}", "w", encoding="utf-8") as Result.lines:
        try:
            main.main(module=None, testRunner=Runner)
        finally:
            print("end", file=Result.lines)


if __name__ == "__main__":
    run()

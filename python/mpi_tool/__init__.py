"""Reports of MPI tools as tables.

>>> import mpi_tool
>>> report = mpi_tool.load("profile.json")     # or a page, or the folder of a run
>>> for row in report.rows.sorted("time_sum")[:5]:
...     print(row["function"], row["time_sum"])

Tables are lists of dictionaries with one level: ``time.by_rank.most`` of the report is ``time_by_rank_most``. With
pandas installed, ``report.rows.frame()`` is a data frame.
"""

from ._report import Report, ReportError, load, loads
from ._table import Table

__all__ = ["Report", "ReportError", "Table", "load", "loads"]
__version__ = "0.1.0"

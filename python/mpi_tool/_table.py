"""Tables without further packages."""


def flatten(value, path=""):
    """Yields the fields of a dictionary, and of those in it, with their paths."""
    for name, inner in value.items():
        here = f"{path}_{name}" if path else str(name)
        if isinstance(inner, dict):
            yield from flatten(inner, here)
        else:
            yield here, inner


class Table(list):
    """A list of dictionaries, all with the same keys: a key that a line does not have is ``None`` there."""

    def __init__(self, lines=()):
        lines = [dict(flatten(line)) for line in lines]
        self.columns = list(dict.fromkeys(name for line in lines for name in line))
        super().__init__({name: line.get(name) for name in self.columns} for line in lines)

    def column(self, name):
        """The values of a column."""
        if name not in self.columns:
            raise KeyError(f"no column {name}: there are {', '.join(self.columns) or 'none'}")
        return [line[name] for line in self]

    def where(self, **values):
        """The lines with these values: ``rows.where(function="MPI_Send")``."""
        for name in values:
            self.column(name)
        return Table(line for line in self if all(line[name] == value for name, value in values.items()))

    def sorted(self, name, descending=True):
        """The lines by a column; those without a value last."""
        self.column(name)
        known = [line for line in self if line[name] is not None]
        known.sort(key=lambda line: line[name], reverse=descending)
        return Table(known + [line for line in self if line[name] is None])

    def sums(self, by, *names):
        """The sums of columns, for each value of ``by``."""
        sums = {}
        for key, line in zip(self.column(by), self):
            sum_ = sums.setdefault(key, {by: key, **dict.fromkeys(names, 0)})
            for name in names:
                sum_[name] += line[name] or 0
        return Table(sums.values())

    def frame(self):
        """The table as a data frame of pandas."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("data frames need pandas: pip install pandas") from error
        return pandas.DataFrame(list(self), columns=self.columns)

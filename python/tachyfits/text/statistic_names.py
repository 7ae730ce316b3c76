"""Names of statistics, for type checkers.

Written by tools/reference_pages.py from the register of statistics.
"""

from typing import Literal, TypeAlias

#: Statistics of one pass.
OnePass: TypeAlias = Literal[
    "count",
    "nan",
    "sum",
    "mean",
    "rms",
    "std",
    "min",
    "max",
    "min_position",
    "max_position",
    "skewness",
    "kurtosis",
]

#: Statistics of the sorted pixels. Percentiles have any number; these are usual, and
#: `Image.percentile` takes others.
OrderStatistic: TypeAlias = Literal[
    "median",
    "mad",
    "percentile0.1",
    "percentile1",
    "percentile2",
    "percentile5",
    "percentile10",
    "percentile16",
    "percentile25",
    "percentile50",
    "percentile75",
    "percentile84",
    "percentile90",
    "percentile95",
    "percentile98",
    "percentile99",
    "percentile99.5",
    "percentile99.9",
]

#: Every statistic.
StatisticName: TypeAlias = Literal[OnePass, OrderStatistic]

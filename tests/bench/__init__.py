"""Benchmarks: generated traces, rival engines, and the runner that times them against nsys-digest."""

GENERATOR_VERSION = 1
"""Grows when the generated data changes, so that cached traces of an older generator are not used."""

SIZES = {"tiny": (1, 1), "S": (25, 1), "M": (250, 1), "L": (250, 5), "XL": (250, 20)}
"""Steps of each process, and how many times the whole is repeated along time."""

VARIANTS = ("plain", "sparse", "unique")

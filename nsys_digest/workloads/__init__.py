"""Programs that make traces of known shape. They need the optional packages of ``nsys-digest[workloads]``.

Nothing of the digest imports them, and they import torch only when they run.
"""

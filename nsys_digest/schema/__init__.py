"""The only place that knows nsys table and column names: what to read, and what the numbers in it stand for.

Table and column history as seen in public exports of nsys 2020 to 2026 (export schema 2.9 to 3.25), and NVIDIA's
"SQLite Export Schema Reference" and "Post-Collection Analysis Guide", docs.nvidia.com/nsight-systems.
"""

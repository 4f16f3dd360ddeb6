"""Benchmarks: ``python -m bench`` prints ratios against peers; ``python -m bench.demo`` is the body of scripts/demo."""

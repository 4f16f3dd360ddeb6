"""Scalars of tiles and tensors, descriptors, and output for people (tile API sections 3.8, 3.14)."""

from __future__ import annotations

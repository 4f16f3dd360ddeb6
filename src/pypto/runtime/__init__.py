"""Launching kernels: argument checks, caches, artefacts, reports."""

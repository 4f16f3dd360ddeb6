"""Decorators, launches, specialisation, artefacts."""

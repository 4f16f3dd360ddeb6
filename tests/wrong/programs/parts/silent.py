"""A script that calls no kernel."""

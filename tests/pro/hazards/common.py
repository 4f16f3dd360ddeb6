"""What the kernels of this directory share: pipes by name, and flags between them."""

import pypto_pro.language as pl

FIX, M, S, V = pl.PipeType.FIX, pl.PipeType.M, pl.PipeType.S, pl.PipeType.V
MTE1, MTE2, MTE3 = pl.PipeType.MTE1, pl.PipeType.MTE2, pl.PipeType.MTE3


def give(first, second, number):
    """A set on one pipe for another."""
    pl.system.sync_src(set_pipe=first, wait_pipe=second, event_id=number)


def take(first, second, number):
    """The wait for it."""
    pl.system.sync_dst(set_pipe=first, wait_pipe=second, event_id=number)


def order(first, second, number):
    """Set and wait at once."""
    pl.system.sync_src(set_pipe=first, wait_pipe=second, event_id=number)
    pl.system.sync_dst(set_pipe=first, wait_pipe=second, event_id=number)

"""Sync_all only in one block."""

import pypto_pro.language as pl


@pl.jit(auto_mutex=True)
def kernel(x: pl.Tensor[[64, 64], pl.DT_FP32], out: pl.Tensor[[64, 64], pl.DT_FP32]):
    with pl.section_vector():
        i = pl.get_block_idx()
        if i == 0:
            pl.system.sync_all(core_type=pl.SyncCoreType.AIV_ONLY)


EXPECTED = ["Deadlock"]
BLOCKS = 3

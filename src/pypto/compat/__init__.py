"""Scripts written for an NPU on a machine without one: names, stand-ins, the launcher.

``install()`` makes ``import torch_npu``, ``torch.npu``, ``device="npu:0"`` and ``.npu()`` work on the host, unless the real
``torch_npu`` is installed. ``pypto run`` calls it before the script starts. Nothing else in the house knows about this room.
"""

from __future__ import annotations

from pypto.compat.install import active, install

__all__ = ["active", "install"]

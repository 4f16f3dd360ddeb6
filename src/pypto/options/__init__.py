"""Options: one table (``table``), checked values (``check``), scopes (``scopes``), environment variables (``environment``).

The rest of the house asks ``options.current().get("run.engine")`` and opens ``options.scope("name", {...})``. The public
setters and getters are in ``pypto.config``.
"""

from __future__ import annotations

from pypto.options.scopes import Scope, current, reset, scope, set_process, update
from pypto.options.table import TABLE, Option, rows_of

__all__ = ["TABLE", "Option", "Scope", "current", "reset", "rows_of", "scope", "set_process", "update"]

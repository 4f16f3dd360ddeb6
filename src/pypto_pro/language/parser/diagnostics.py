"""The classes of front-end errors, under the name users import them by."""

from pypto_pro.errors import *  # noqa: F403
from pypto_pro.errors import __all__ as __all__

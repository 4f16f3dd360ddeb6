"""Every message of the tile front end, in families; the parser classes are here for users to catch."""

from pypto_pro.errors.base import (
    FinalRejectionError,
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    ScopeIsolationError,
    SSAViolationError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)

__all__ = [
    "FinalRejectionError",
    "InvalidOperationError",
    "ParserError",
    "ParserSyntaxError",
    "ParserTypeError",
    "SSAViolationError",
    "ScopeIsolationError",
    "UndefinedVariableError",
    "UnsupportedFeatureError",
]

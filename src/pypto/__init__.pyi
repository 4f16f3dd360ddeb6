# Written by scripts/pages.py: names that pypto fetches from their rooms on demand, for editors and type checkers.
import enum as enum
from typing import Any

from pypto import error as error, experimental as experimental, frontend as frontend, logging as logging
from pypto import pypto_impl as pypto_impl, runtime as runtime, testing as testing
from pypto.scoping import options as options
from pypto.version import __version__ as __version__

from pypto.config import ConvTile as ConvTile
from pypto.config import CubeTile as CubeTile
from pypto.config import get_codegen_options as get_codegen_options
from pypto.config import get_conv_tile_shapes as get_conv_tile_shapes
from pypto.config import get_cpu_options as get_cpu_options
from pypto.config import get_cube_tile_shapes as get_cube_tile_shapes
from pypto.config import get_debug_options as get_debug_options
from pypto.config import get_host_options as get_host_options
from pypto.config import get_pass_options as get_pass_options
from pypto.config import get_run_options as get_run_options
from pypto.config import get_vec_tile_shapes as get_vec_tile_shapes
from pypto.config import get_verify_options as get_verify_options
from pypto.config import set_codegen_options as set_codegen_options
from pypto.config import set_conv_tile_shapes as set_conv_tile_shapes
from pypto.config import set_cpu_options as set_cpu_options
from pypto.config import set_cube_tile_shapes as set_cube_tile_shapes
from pypto.config import set_debug_options as set_debug_options
from pypto.config import set_host_options as set_host_options
from pypto.config import set_matrix_size as set_matrix_size
from pypto.config import set_pass_options as set_pass_options
from pypto.config import set_print_options as set_print_options
from pypto.config import set_run_options as set_run_options
from pypto.config import set_semantic_label as set_semantic_label
from pypto.config import set_vec_tile_shapes as set_vec_tile_shapes
from pypto.config import set_verify_options as set_verify_options
from pypto.dtypes import DataType as DataType
from pypto.dtypes import bytes_of as bytes_of
from pypto.elements import Element as Element
from pypto.elements import convert_to_element as convert_to_element
from pypto.enums import AtomicRMWMode as AtomicRMWMode
from pypto.enums import AtomicType as AtomicType
from pypto.enums import CachePolicy as CachePolicy
from pypto.enums import CastMode as CastMode
from pypto.enums import CompStage as CompStage
from pypto.enums import DYN as DYN
from pypto.enums import DYNAMIC as DYNAMIC
from pypto.enums import DequantScaleRoundingMode as DequantScaleRoundingMode
from pypto.enums import LogLevel as LogLevel
from pypto.enums import OpType as OpType
from pypto.enums import OutType as OutType
from pypto.enums import PassConfigKey as PassConfigKey
from pypto.enums import PrecisionType as PrecisionType
from pypto.enums import ROUND_DOWN as ROUND_DOWN
from pypto.enums import ROUND_UP as ROUND_UP
from pypto.enums import ReLuType as ReLuType
from pypto.enums import ReduceMode as ReduceMode
from pypto.enums import RunMode as RunMode
from pypto.enums import STATIC as STATIC
from pypto.enums import SatStatus as SatStatus
from pypto.enums import SaturationMode as SaturationMode
from pypto.enums import ScatterMode as ScatterMode
from pypto.enums import StatusType as StatusType
from pypto.enums import TileOpFormat as TileOpFormat
from pypto.enums import TopKAlgo as TopKAlgo
from pypto.enums import TransMode as TransMode
from pypto.frontend.builder import Function as Function
from pypto.frontend.builder import get_current_function as get_current_function
from pypto.frontend.builder import get_last_function as get_last_function
from pypto.frontend.control import cond as cond
from pypto.frontend.control import function as function
from pypto.frontend.control import is_loop_begin as is_loop_begin
from pypto.frontend.control import is_loop_end as is_loop_end
from pypto.frontend.control import loop as loop
from pypto.frontend.control import loop_unroll as loop_unroll
from pypto.frontend.interop import from_torch as from_torch
from pypto.frontend.methods import Tensor as Tensor
from pypto.frontend.structure import assemble as assemble
from pypto.frontend.structure import atomic_add as atomic_add
from pypto.frontend.structure import print as print
from pypto.frontend.structure import reshape as reshape
from pypto.frontend.structure import view as view
from pypto.frontend.symbolic import SymbolicScalar as SymbolicScalar
from pypto.frontend.symbolic import symbolic_max as max
from pypto.frontend.symbolic import symbolic_min as min
from pypto.helpers import ceildiv as ceildiv
from pypto.kernel import jit as jit
from pypto.logging import InternalError as InternalError
from pypto.logging import check as check
from pypto.logging import get_log_level as get_log_level
from pypto.logging import internal_check as internal_check
from pypto.logging import log_debug as log_debug
from pypto.logging import log_error as log_error
from pypto.logging import log_event as log_event
from pypto.logging import log_fatal as log_fatal
from pypto.logging import log_info as log_info
from pypto.logging import log_warn as log_warn
from pypto.logging import raise_error as raise_error
from pypto.logging import set_log_level as set_log_level
from pypto.ops.arithmetic import add as add
from pypto.ops.arithmetic import div as div
from pypto.ops.arithmetic import floor_div as floor_div
from pypto.ops.arithmetic import floor_of_quotient as floor_of_quotient
from pypto.ops.arithmetic import fmod as fmod
from pypto.ops.arithmetic import maximum as maximum
from pypto.ops.arithmetic import minimum as minimum
from pypto.ops.arithmetic import mul as mul
from pypto.ops.arithmetic import remainder as remainder
from pypto.ops.arithmetic import sub as sub
from pypto.ops.arranging import clone as clone
from pypto.ops.arranging import concat as concat
from pypto.ops.arranging import expand as expand
from pypto.ops.arranging import expand_clone as expand_clone
from pypto.ops.arranging import permute as permute
from pypto.ops.arranging import transpose as transpose
from pypto.ops.bitwise import bitwise_and as bitwise_and
from pypto.ops.bitwise import bitwise_left_shift as bitwise_left_shift
from pypto.ops.bitwise import bitwise_not as bitwise_not
from pypto.ops.bitwise import bitwise_or as bitwise_or
from pypto.ops.bitwise import bitwise_right_shift as bitwise_right_shift
from pypto.ops.bitwise import bitwise_xor as bitwise_xor
from pypto.ops.casting import cast as cast
from pypto.ops.comparison import eq as eq
from pypto.ops.comparison import ge as ge
from pypto.ops.comparison import greater as greater
from pypto.ops.comparison import gt as gt
from pypto.ops.comparison import isfinite as isfinite
from pypto.ops.comparison import isnan as isnan
from pypto.ops.comparison import le as le
from pypto.ops.comparison import logical_and as logical_and
from pypto.ops.comparison import logical_not as logical_not
from pypto.ops.comparison import logical_or as logical_or
from pypto.ops.comparison import lt as lt
from pypto.ops.comparison import ne as ne
from pypto.ops.comparison import where as where
from pypto.ops.composite import as_float32 as float
from pypto.ops.composite import mean as mean
from pypto.ops.composite import rms_norm as rms_norm
from pypto.ops.composite import sigmoid as sigmoid
from pypto.ops.composite import softmax as softmax
from pypto.ops.creation import arange as arange
from pypto.ops.creation import full as full
from pypto.ops.creation import ones as ones
from pypto.ops.creation import zeros as zeros
from pypto.ops.functions import cos as cos
from pypto.ops.functions import cosh as cosh
from pypto.ops.functions import erf as erf
from pypto.ops.functions import erfc as erfc
from pypto.ops.functions import exp as exp
from pypto.ops.functions import exp2 as exp2
from pypto.ops.functions import expm1 as expm1
from pypto.ops.functions import log as log
from pypto.ops.functions import log10 as log10
from pypto.ops.functions import log1p as log1p
from pypto.ops.functions import log2 as log2
from pypto.ops.functions import reciprocal as reciprocal
from pypto.ops.functions import rsqrt as rsqrt
from pypto.ops.functions import sin as sin
from pypto.ops.functions import sinh as sinh
from pypto.ops.functions import sqrt as sqrt
from pypto.ops.functions import tan as tan
from pypto.ops.functions import tanh as tanh
from pypto.ops.indexing import gather as gather
from pypto.ops.indexing import index_select as index_select
from pypto.ops.indexing import scatter_update as scatter_update
from pypto.ops.matmul import matmul as matmul
from pypto.ops.matmul import matmul_operator as matmul_operator
from pypto.ops.movement import reinterpret as reinterpret
from pypto.ops.movement import squeeze as squeeze
from pypto.ops.movement import unsqueeze as unsqueeze
from pypto.ops.power import pow as pow
from pypto.ops.reduction import amax as amax
from pypto.ops.reduction import amin as amin
from pypto.ops.reduction import argmax as argmax
from pypto.ops.reduction import argmin as argmin
from pypto.ops.reduction import prod as prod
from pypto.ops.reduction import sum as sum
from pypto.ops.scan import cumsum as cumsum
from pypto.ops.scan import topk as topk
from pypto.ops.scan import tril as tril
from pypto.ops.scan import triu as triu
from pypto.ops.signs import abs as abs
from pypto.ops.signs import ceil as ceil
from pypto.ops.signs import clip as clip
from pypto.ops.signs import floor as floor
from pypto.ops.signs import lrelu as lrelu
from pypto.ops.signs import neg as neg
from pypto.ops.signs import relu as relu
from pypto.ops.signs import round as round
from pypto.ops.signs import sign as sign
from pypto.ops.signs import trunc as trunc
from pypto.pass_config import PassConfigs as PassConfigs
from pypto.pass_config import get_pass_config as get_pass_config
from pypto.pass_config import get_pass_configs as get_pass_configs
from pypto.pass_config import get_pass_default_config as get_pass_default_config
from pypto.pass_config import set_pass_config as set_pass_config
from pypto.pass_config import set_pass_default_config as set_pass_default_config
from pypto.platforms import platform as platform
from pypto.scoping import ConfigScope as ConfigScope
from pypto.scoping import get_current_scope as get_current_scope
from pypto.scoping import get_global_config as get_global_config
from pypto.scoping import get_options_tree as get_options_tree
from pypto.scoping import reset_options as reset_options
from pypto.scoping import set_global_config as set_global_config
from pypto.scoping import set_options as set_options
from pypto.verification import pass_verify_print as pass_verify_print

tensor = Tensor
element = Element
symbolic_scalar = SymbolicScalar
DT_INT4 = DataType.DT_INT4
DT_INT8 = DataType.DT_INT8
DT_INT16 = DataType.DT_INT16
DT_INT32 = DataType.DT_INT32
DT_INT64 = DataType.DT_INT64
DT_FP8 = DataType.DT_FP8
DT_FP16 = DataType.DT_FP16
DT_FP32 = DataType.DT_FP32
DT_BF16 = DataType.DT_BF16
DT_HF4 = DataType.DT_HF4
DT_HF8 = DataType.DT_HF8
DT_UINT8 = DataType.DT_UINT8
DT_UINT16 = DataType.DT_UINT16
DT_UINT32 = DataType.DT_UINT32
DT_UINT64 = DataType.DT_UINT64
DT_BOOL = DataType.DT_BOOL
DT_DOUBLE = DataType.DT_DOUBLE
DT_FP8E4M3 = DataType.DT_FP8E4M3
DT_FP8E5M2 = DataType.DT_FP8E5M2
DT_FP8E8M0 = DataType.DT_FP8E8M0
DT_FP4_E2M1X2 = DataType.DT_FP4_E2M1X2
DT_FP4_E1M2X2 = DataType.DT_FP4_E1M2X2
DT_FP4_E2M1 = DataType.DT_FP4_E2M1
DT_FP4_E1M2 = DataType.DT_FP4_E1M2
DT_BOTTOM = DataType.DT_BOTTOM

def __getattr__(name: str) -> Any: ...

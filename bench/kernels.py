"""The kernels that the benchmark and the demo run, written as a user would write them."""

from __future__ import annotations

import pypto

FP32 = pypto.DT_FP32
NEGATIVE = -1e30  # instead of -inf: a fully masked block then gives no NaN


@pypto.frontend.jit
def chain(x, y, out):
    """((x*y + 1.5)*x - y*0.5).exp() / (x*x + 2), elementwise."""
    pypto.set_vec_tile_shapes(64, 256)
    out[:] = pypto.exp((x * y + 1.5) * x - y * 0.5) / (x * x + 2.0)


@pypto.frontend.jit
def softmax(x, out):
    """Softmax over the last axis."""
    pypto.set_vec_tile_shapes(16, 1024)
    out[:] = pypto.softmax(x, -1)


@pypto.frontend.jit
def rms_norm(x, gamma, out):
    """RMS norm over the last axis, scaled by gamma."""
    pypto.set_vec_tile_shapes(16, 1024)
    out[:] = pypto.rms_norm(x, gamma, 1e-6)


@pypto.frontend.jit
def layer_norm(x, gamma, beta, out):
    """Layer norm over the last axis; gamma and beta are [1, columns]."""
    pypto.set_vec_tile_shapes(16, 1024)
    columns = x.shape[1]
    wide = pypto.cast(x, FP32)
    centred = wide - pypto.sum(wide, -1, True) * (1.0 / columns)
    variance = pypto.sum(centred * centred, -1, True) * (1.0 / columns)
    normal = centred * pypto.rsqrt(variance + 1e-5)
    out[:] = pypto.cast(normal * pypto.cast(gamma, FP32) + pypto.cast(beta, FP32), out.dtype)


def gelu(x):
    """gelu in its tanh form."""
    inner = (x * x * x * 0.044715 + x) * 0.7978845608028654
    return x * 0.5 * (pypto.tanh(inner) + 1.0)


@pypto.frontend.jit
def gelu_softmax(x, out):
    """softmax(gelu(x)*2 + 1)."""
    pypto.set_vec_tile_shapes(16, 1024)
    out[:] = pypto.softmax(gelu(x) * 2.0 + 1.0, -1)


@pypto.frontend.jit
def matmul(a, b, out, a_trans=False, b_trans=False):
    """out = op(a) @ op(b), result type that of out."""
    pypto.set_cube_tile_shapes([128, 128], [64, 256], [256, 256])
    out[:] = pypto.matmul(a, b, out.dtype, a_trans=a_trans, b_trans=b_trans)


@pypto.frontend.jit
def linear_gelu(x, weight, bias, out):
    """gelu(x @ weight + bias); bias is [1, columns]."""
    pypto.set_cube_tile_shapes([128, 128], [64, 256], [256, 256])
    pypto.set_vec_tile_shapes(64, 256)
    out[:] = pypto.cast(gelu(pypto.matmul(x, weight, FP32) + pypto.cast(bias, FP32)), out.dtype)


@pypto.frontend.jit
def dequantised_matmul(a, b, row_scale, column_scale, out):
    """(a @ b) in int32, times row_scale [M, 1] and column_scale [1, N]."""
    pypto.set_cube_tile_shapes([128, 128], [128, 256], [256, 256])
    pypto.set_vec_tile_shapes(64, 256)
    product = pypto.cast(pypto.matmul(a, b, pypto.DT_INT32), FP32)
    out[:] = pypto.cast(product * row_scale * column_scale, out.dtype)


@pypto.frontend.jit
def norm_linear_gelu(x, gamma, weight, out):
    """gelu(rms_norm(x) @ weight) in the type of x."""
    pypto.set_vec_tile_shapes(16, 1024)
    pypto.set_cube_tile_shapes([128, 128], [64, 256], [256, 256])
    normal = pypto.rms_norm(x, gamma, 1e-6)
    out[:] = gelu(pypto.matmul(normal, weight, out.dtype))


@pypto.frontend.jit
def flash_attention(q, k, v, out, scale=1.0, causal=False, rows=128, columns=256):
    """Online-softmax attention over q, k, v of [batch, heads, length, size]; blocks of rows × columns."""
    batch, heads, length, size = q.shape
    pypto.set_vec_tile_shapes(rows, columns)
    pypto.set_cube_tile_shapes([128, 128], [64, 256], [256, 256])
    for b in pypto.loop(batch, name="batch", idx_name="b"):
        for h in pypto.loop(heads, name="head", idx_name="h"):
            for i in pypto.loop(length // rows, name="query", idx_name="i"):
                first = i * rows
                query = pypto.reshape(q[b : b + 1, h : h + 1, first : first + rows, :], [rows, size])
                top = pypto.full([rows, 1], NEGATIVE, FP32)
                total = pypto.zeros(rows, 1)
                result = pypto.zeros(rows, size)
                blocks = pypto.ceildiv(first + rows, columns) if causal else length // columns
                for j in pypto.loop(blocks, name="key", idx_name="j"):
                    start = j * columns
                    keys = pypto.reshape(k[b : b + 1, h : h + 1, start : start + columns, :], [columns, size])
                    values = pypto.reshape(v[b : b + 1, h : h + 1, start : start + columns, :], [columns, size])
                    scores = pypto.matmul(query, keys, FP32, b_trans=True) * scale
                    if causal:
                        if start + columns > first:
                            scores = scores + pypto.triu(pypto.full([rows, columns], NEGATIVE, FP32), first - start + 1)
                    new_top = pypto.maximum(top, pypto.amax(scores, -1, True))
                    weights = pypto.exp(scores - new_top)
                    decay = pypto.exp(top - new_top)
                    total = total * decay + pypto.sum(weights, -1, True)
                    result = result * decay + pypto.matmul(pypto.cast(weights, v.dtype), values, FP32)
                    top = new_top
                block = pypto.cast(result / total, out.dtype)
                out[b : b + 1, h : h + 1, first : first + rows, :] = pypto.reshape(block, [1, 1, rows, size])


DYNAMIC = pypto.DYNAMIC
BF16 = pypto.DT_BF16


@pypto.frontend.jit
def paged_decode(
    query: pypto.Tensor([DYNAMIC, 12, 128], BF16),
    key_cache: pypto.Tensor([DYNAMIC, 128, 128], BF16),
    value_cache: pypto.Tensor([DYNAMIC, 128, 128], BF16),
    table: pypto.Tensor([DYNAMIC, DYNAMIC], pypto.DT_INT32),
    lengths: pypto.Tensor([DYNAMIC], pypto.DT_INT32),
    out: pypto.Tensor([DYNAMIC, 12, 128], BF16),
    scale=1.0,
):
    """One new token per sequence attends to a paged cache: 12 query heads share one key/value head of size 128."""
    heads, size, block = 12, 128, 128
    pypto.set_vec_tile_shapes(16, 128)
    pypto.set_cube_tile_shapes([16, 16], [128, 128], [128, 128])
    for b in pypto.loop(query.shape[0], name="sequence", idx_name="b"):
        length = lengths[b]
        row = pypto.reshape(query[b : b + 1, :, :], [heads, size])
        top = pypto.tensor([heads, 1], FP32, "top")
        total = pypto.tensor([heads, 1], FP32, "total")
        result = pypto.tensor([heads, size], FP32, "result")
        for j in pypto.loop(pypto.ceildiv(length, block), name="page", idx_name="j", unroll_list=[8, 4, 2, 1]):
            page = table[b, j]
            rest = pypto.min(length - j * block, block)
            keys = pypto.reshape(
                pypto.view(key_cache, [1, block, size], [page, 0, 0], valid_shape=[1, rest, size]),
                [block, size],
                valid_shape=[rest, size],
            )
            values = pypto.reshape(
                pypto.view(value_cache, [1, block, size], [page, 0, 0], valid_shape=[1, rest, size]),
                [block, size],
                valid_shape=[rest, size],
            )
            scores = pypto.matmul(row, keys, FP32, b_trans=True) * scale
            peak = pypto.amax(scores, -1, True)
            if pypto.is_loop_begin(j):
                weights = pypto.exp(scores - peak)
                top[:] = peak
                total[:] = pypto.sum(weights, -1, True)
                result[:] = pypto.matmul(pypto.cast(weights, BF16), values, FP32)
            else:
                new_top = pypto.maximum(top, peak)
                weights = pypto.exp(scores - new_top)
                decay = pypto.exp(top - new_top)
                total[:] = total * decay + pypto.sum(weights, -1, True)
                result[:] = result * decay + pypto.matmul(pypto.cast(weights, BF16), values, FP32)
                top[:] = new_top
            if pypto.is_loop_end(j):
                out[b : b + 1, :, :] = pypto.reshape(pypto.cast(result / total, BF16), [1, heads, size])


@pypto.frontend.jit
def add(x, y, out):
    """out = x + y."""
    pypto.set_vec_tile_shapes(8, 32)
    out[:] = x + y

"""The language of kernels: scalars, control flow, helpers, structs, pointers; every value is written out and compared with Python's."""

# ruff: noqa: F821  (branches that are not taken may name anything)

import numpy as np
import pytest

import pypto_pro.language as pl

OUT = pl.Tensor[[64], pl.DT_INT64]


def run(f, *args, dtype=np.int64, n=64):
    out = np.zeros(n, dtype)
    (f if hasattr(f, "launch") else pl.jit(f))(out, *args)
    return out


def test_arith():
    @pl.jit
    def k(out: OUT, n: pl.DT_INT64, m: pl.DT_INT32):
        with pl.section_vector():
            out[0] = n + 3
            out[1] = n // 4
            out[2] = n % 4
            out[3] = -7 // 2
            out[4] = n << 2
            out[5] = ~n
            out[6] = n & 6 | 1
            x = n
            x += 5
            x *= 2
            out[7] = x
            a, b = n, m
            a, b = b, a
            out[8] = a
            out[9] = b
            out[10] = max(n, m)
            out[11] = pl.min(n, 3)
            out[12] = 1 if n > m else 2
            out[13] = n > 0 and m > 0
            out[14] = not n
            out[15] = (n in (1, 7, -7)) + 10
            out[16] = n in pl.range(-10, 0)
            out[17] = int(n / 2 * 10)
            out[18] = abs(n)
            out[19] = (n == m) or (n != m)

    o = run(k, -7, 5)
    assert o[:20].tolist() == [-4, -1, -3, -4, -28, 6, (-7 & 6) | 1, -4, 5, -7, 5, -7, 2, 0, 0, 11, 1, -35, 7, 1]


def test_loops():
    @pl.jit
    def k(out: OUT, n: pl.DT_INT64):
        with pl.section_vector():
            total = 0
            for i in pl.range(n):
                if i == 3:
                    continue
                if i == 8:
                    break
                total = total + i
            out[0] = total
            out[1] = i
            j = 0
            s = 0
            while j < n:
                j += 1
                if j % 2 == 0:
                    s += j
                elif j > 7:
                    break
                else:
                    s += 100
            out[2] = s
            out[3] = j
            c = 1
            for k2 in pl.range(10, 0, -3):
                c = c * 10 + k2
            out[4] = c
            while True:
                c -= 1000
                if c < 0:
                    break
            out[5] = c

    def ref(n):
        total = 0
        for i in range(n):
            if i == 3:
                continue
            if i == 8:
                break
            total += i
        j = s = 0
        while j < n:
            j += 1
            if j % 2 == 0:
                s += j
            elif j > 7:
                break
            else:
                s += 100
        c = 1
        for k in range(10, 0, -3):
            c = c * 10 + k
        c4 = c
        while True:
            c -= 1000
            if c < 0:
                break
        return [total, i, s, j, c4, c]

    for n in (1, 2, 5, 20):
        assert run(k, n)[:6].tolist() == ref(n)


def clamp(x, lo, hi=9):
    if x < lo:
        return lo
    if x > hi:
        return hi
    return x


def first_multiple(n, k):
    for i in pl.range(1, n):
        if i % k == 0:
            return i
    return -1


def nested(n):
    for i in pl.range(n):
        for j in pl.range(n):
            if i * j == 6:
                return i * 10 + j
    return 0


def early(out, n):
    if n > 3:
        return
    out[4] = 77


def pair(a, b):
    return a + b, a - b


def both(c, n):
    if c:
        if n > 2:
            return 5
        n = n + 1
    else:
        n = n + 100
    return n * 2


def test_helpers():
    @pl.jit
    def k(out: OUT, n: pl.DT_INT64):
        with pl.section_vector():
            out[0] = clamp(n, 2)
            out[1] = clamp(n, 2, 5)
            out[2] = first_multiple(n, 4)
            out[3] = nested(n)
            early(out, n)
            p, q = pair(n, 3)
            out[5] = p
            out[6] = q
            out[7] = both(n > 4, n)
            out[8] = both(n == 1, n)
            out[9] = clamp(100, 2)

    for n in (1, 2, 3, 4, 5, 9, 12):

        def r(n):
            def fm(n, k):
                for i in range(1, n):
                    if i % k == 0:
                        return i
                return -1

            def ne(n):
                for i in range(n):
                    for j in range(n):
                        if i * j == 6:
                            return i * 10 + j
                return 0

            return [
                clamp(n, 2),
                clamp(n, 2, 5),
                fm(n, 4),
                ne(n),
                0 if n > 3 else 77,
                n + 3,
                n - 3,
                both(n > 4, n),
                both(n == 1, n),
                9,
            ]

        assert run(k, n)[:10].tolist() == r(n), n


def test_structs():
    @pl.jit
    def k(out: OUT, n: pl.DT_INT64):
        with pl.section_vector():
            s = pl.struct("S", a=1, b=[1, 2, 3], f=0.5)
            s.a = n
            s.b[1] = n * 2
            s.b[n] += 5
            out[0] = s.a
            out[1] = s.b[0] + s.b[1] + s.b[2]
            arr = pl.struct_array(3, "R", v=0, w=1)
            for i in pl.range(6):
                r = arr[i % 3]
                r.v = r.v + i
                arr[i % 3].w = i
            out[2] = arr[0].v
            out[3] = arr[1].v
            out[4] = arr[2].w
            s.b = [7, 8, 9]
            out[5] = s.b[2]
            t = pl.make_tuple(x=n, y=3)
            out[6] = t.x + t.y
            u = (n, n + 1, 5)
            out[7] = u[n]
            s.f = n
            out[8] = int(s.f * 2)
            if n > 0:
                s.a = 9
            out[9] = s.a

    assert run(k, 2)[:10].tolist() == [2, 1 + 4 + 8, 3, 5, 5, 9, 5, 5, 4, 9]


def test_branches_merge():
    @pl.jit
    def k(out: OUT, n: pl.DT_INT64):
        with pl.section_vector():
            x = 1
            if n > 2:
                x = 5
                y = 1
            elif n > 1:
                y = n
            else:
                x = n
                y = 3
            out[0] = x
            out[1] = y
            offs = (0, 1)
            if n > 2:
                offs = (n, 2)
            out[2] = offs[0] + offs[1]

    assert run(k, 3)[:3].tolist() == [5, 1, 5]
    assert run(k, 2)[:3].tolist() == [1, 2, 1]
    assert run(k, 0)[:3].tolist() == [0, 3, 1]


def test_const_prune():
    MODE = 3

    @pl.jit
    def k(out: OUT):
        with pl.section_vector():
            if MODE == 3:
                out[0] = 1
            else:
                out[0] = undefined_thing
            if pl.constexpr(MODE > 1):
                out[1] = 2
            z = 4
            if z == 4:
                out[2] = 3
            else:
                nonsense.foo()
            for i in pl.range(3):
                z = z + 1
            out[3] = z
            out[4] = [k * 1 for k in range(5)][2]
            out[5] = out.shape[0] + out.shape[-1]
            out[6] = sum([1, 2, 3])

    assert run(k)[:7].tolist() == [1, 2, 3, 7, 2, 128, 6]


def test_ptr():
    @pl.jit
    def k(out: OUT, p: pl.Ptr[pl.DT_INT64], q: pl.Ptr[pl.DT_INT64]):
        with pl.section_vector():
            if p is None:
                out[0] = 1
            if q is not None:
                out[1] = 2
                t = pl.make_tensor(q + 2, [2, 3], stride=[4, 1])
                out[2] = t[0, 1]
                out[3] = t[1, 2]
                r = pl.make_ptr(q, pl.DT_INT32)
                u = pl.make_tensor(r, [40])
                out[4] = u[2]
                s = pl.addptr(q, 5)
                out[5] = pl.make_tensor(s, [1])[0]

    a = np.arange(20)
    o = run(k, None, a)
    assert o[:6].tolist() == [1, 2, 3, 8, 1, 5], o[:6]


def test_return_and_while_else():
    @pl.jit
    def k(out: OUT, n: pl.DT_INT64):
        with pl.section_vector():
            out[0] = 1
            if n > 3:
                return
            out[1] = 2

    assert run(k, 5)[:2].tolist() == [1, 0]
    assert run(k, 1)[:2].tolist() == [1, 2]


def test_a_name_bound_on_one_path_only_is_an_error_where_it_is_read():
    @pl.jit
    def kernel(out: OUT, n: pl.DT_INT64):
        if n > 2:
            y = n + 1
        out[0] = y

    assert run(kernel, 3)[0] == 4
    with pytest.raises(UnboundLocalError, match="'y' is read before any path has bound it"):
        run(kernel, 1)


def test_right_sides_of_and_are_evaluated_only_when_needed():
    """``i < n and x[i] > 0`` never reads behind the tensor."""

    @pl.jit
    def kernel(out: OUT, n: pl.DT_INT64):
        i = 60
        while i < n and out[i] == 0:
            i += 1
        out[0] = i

    assert run(kernel, 64)[0] == 64


def test_a_loop_variable_becomes_as_wide_as_its_values():
    @pl.jit
    def kernel(out: OUT, small: pl.DT_INT32, n: pl.DT_INT64):
        x = small
        for _ in pl.range(n):
            x = x * 1000
        out[0] = x

    assert run(kernel, 7, 5)[0] == 7 * 1000**5


def test_a_tile_chosen_at_run_time():
    x = np.arange(128, dtype=np.float32).reshape(2, 64)
    out = np.zeros((2, 64), np.float32)

    @pl.jit
    def kernel(x: pl.Tensor[[2, 64], pl.DT_FP32], out: pl.Tensor[[2, 64], pl.DT_FP32], which: pl.DT_INT32):
        type = pl.TileType([1, 64], pl.DT_FP32)
        first = pl.make_tile_group(type=type, addrs=0, mutex_ids=[0])
        second = pl.make_tile_group(type=type, addrs=0x100, mutex_ids=[1])
        a, b = first.next(), second.next()
        pl.load(a, x, [0, 0])
        pl.load(b, x, [1, 0])
        chosen = a if which > 0 else b
        pl.store(out, chosen, [0, 0])
        for i in pl.range(2):
            tile = (a, b)[i]
            pl.adds(tile, tile, 1.0)
        pl.store(out, b, [1, 0])

    kernel(x, out, 0)
    assert (out[0] == x[1]).all() and (out[1] == x[1] + 1).all()
    kernel(x, out, 1)
    assert (out[0] == x[0]).all()


def test_rings_turn_once_per_call_of_next():
    out = np.zeros(64, np.int64)

    @pl.jit
    def kernel(out: OUT):
        ring = pl.make_tile_group(type=pl.TileType([1, 32], pl.DT_INT32), addrs=0, mutex_ids=[0, 1, 2])
        last = ring.current()
        last[0, 0] = 30
        first = ring.next()
        first[0, 0] = 10
        ring.next()[0, 0] = 20
        out[0] = ring[0][0, 0]
        out[1] = ring[1][0, 0]
        out[2] = ring[2][0, 0]
        out[3] = ring.previous()[0, 0]
        out[4] = ring.current()[0, 0]

    kernel(out)
    assert out[:5].tolist() == [10, 20, 30, 10, 20]


def test_sections_without_code_of_their_own_leave_no_program():
    @pl.jit
    def kernel(out: OUT):
        for i in pl.range(4):
            with pl.section_cube():
                x = i  # noqa: F841
            with pl.section_vector():
                out[0] = i

    compiled = kernel.compile()
    assert compiled.program.cube is not None and not compiled.program.cube.body
    assert compiled.program.vector is not None


def test_code_outside_sections_runs_on_both_cores(capsys):
    @pl.jit
    def kernel(out: OUT):
        pl.printf("here\n")
        with pl.section_cube():
            pl.printf("cube\n")
        with pl.section_vector():
            pl.printf("vector\n")

    run(kernel)
    text = capsys.readouterr().out
    assert text.count("here") == 3 and text.count("cube") == 1 and text.count("vector") == 2


def test_tuples_are_rebound_at_once():
    @pl.jit
    def kernel(out: OUT, n: pl.DT_INT64):
        state = (0, 1)
        a, b = 0, 1
        for _ in pl.range(n):
            state = (state[1], state[0] + state[1])
            a, b = b, a + b
        out[0] = state[0]
        out[1] = state[1]
        out[2] = a
        named = pl.make_tuple(x=n, y=(n, 1))
        for _ in pl.range(2):
            named = pl.make_tuple(x=named.y[0] + named.y[1], y=(named.x, named.x + named.y[1]))
        out[3] = named.x
        out[4] = named.y[1]

    def named(n):
        x, y = n, (n, 1)
        for _ in range(2):
            x, y = y[0] + y[1], (x, x + y[1])
        return [x, y[1]]

    assert run(kernel, 10)[:5].tolist() == [55, 89, 55, *named(10)]


def bump(record):
    record.count += 10
    return record.count


def first_of(pair, record):
    bump(record)
    return pair[0]


def test_operands_are_read_from_left_to_right():
    @pl.jit
    def kernel(out: OUT):
        record = pl.struct("S", count=1)
        out[0] = record.count + bump(record)
        out[1] = bump(record) - record.count
        out[2] = record.count < bump(record)
        out[3] = first_of((record.count, 5), record)

    assert run(kernel)[:4].tolist() == [12, 0, 1, 31]


def test_conditional_expressions_promote():
    @pl.jit
    def kernel(out: pl.Tensor[[64], pl.DT_FP32], n: pl.DT_INT64):
        out[0] = 0.5 if n < 2 else 2
        out[1] = n if n < 2 else 0.25

    assert run(kernel, 1, dtype=np.float32)[:2].tolist() == [0.5, 1]
    assert run(kernel, 3, dtype=np.float32)[:2].tolist() == [2, 0.25]

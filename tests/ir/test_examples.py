"""Examples that show that conditions hold together: whatever is found must be true, and a proof never contradicts it."""

import random

from pypto.ir import symbols as ir
from pypto.ir.examples import example
from pypto.ir.satisfy import proves


def expression(choose, symbols, deep=2):
    if deep == 0 or choose.random() < 0.2:
        return choose.choice([*symbols, choose.randint(-4, 9)])
    a, b = (expression(choose, symbols, deep - 1) for _ in range(2))
    build = choose.choice([ir.add, ir.sub, ir.minimum, ir.maximum, lambda x, _: ir.floordiv(x, 4), lambda x, _: ir.mod(x, 3)])
    return build(a, b)


def condition(choose, symbols):
    made = ir.compare(choose.choice(["le", "lt", "eq", "ne"]), expression(choose, symbols), expression(choose, symbols))
    return ir.logical_or(made, condition(choose, symbols)) if choose.random() < 0.2 else made


def test_examples_are_true_and_nothing_false_is_proven():
    choose, found = random.Random(1), 0
    for _ in range(400):
        symbols = [ir.Symbol(name, low=choose.choice([0, -ir.INFINITY])) for name in "abc"]
        assumptions = [condition(choose, symbols) for _ in range(choose.randint(0, 3))]
        wanted = condition(choose, symbols)
        numbers = example([*assumptions, ir.logical_not(wanted)])
        if numbers is not None:
            found += 1
            assert all(ir.evaluate(a, numbers) for a in assumptions) and not ir.evaluate(wanted, numbers)
            assert all(s.bounds[0] <= v <= s.bounds[1] for s, v in numbers.items())
        for numbers in ({s: choose.randint(0, 9) for s in symbols} for _ in range(5)):
            if all(ir.evaluate(a, numbers) for a in assumptions) and not ir.evaluate(wanted, numbers):
                assert not proves(assumptions, wanted)
    assert found > 200


def test_loops_and_their_tails():
    i, n, size = ir.Symbol("i"), ir.Symbol("n"), ir.Symbol("size", low=0)
    tiles = ir.mul(ir.floordiv(n, 4), 4)
    inside = [ir.compare("le", 0, i), ir.compare("lt", i, tiles), ir.compare("eq", ir.mod(i, 4), 0)]
    numbers = example([*inside, ir.compare("le", size, i)])
    assert numbers is not None and numbers[i] % 4 == 0 and numbers[size] <= numbers[i] < numbers[n]
    assert example([*inside, ir.compare("lt", n, ir.add(i, 4))]) is None
    assert proves(inside, ir.compare("le", ir.add(i, 4), n))

"""Small programs whose minimum is known."""

from __future__ import annotations

from math import inf

from bayplan.analysis.integer_program import IntegerProgram, Solved

SECONDS = 10.0


def minimize(program: IntegerProgram) -> Solved:
    return program.minimize(SECONDS)


def test_the_cheapest_cover() -> None:
    program = IntegerProgram()
    small, large = program.variable(9, cost=2), program.variable(9, cost=3)
    program.at_most([(small, -1), (large, -2)], -3)
    found = minimize(program)
    assert found.values == (1, 1)
    assert 4.9 < found.bound <= 5


def test_values_are_whole_numbers() -> None:
    program = IntegerProgram()
    only = program.variable(9, cost=1)
    program.at_most([(only, -2)], -3)
    assert minimize(program).values == (2,)


def test_bytes_beside_pieces() -> None:
    program = IntegerProgram()
    one, other = program.variable(1, cost=1), program.variable(1, cost=1)
    program.at_most([(one, -64 * 2**30), (other, -(2**30))], -64 * 2**30)
    program.exactly([(one, 1), (other, -1)], 1)
    assert minimize(program).values == (1, 0)


def test_what_cannot_be_has_an_infinite_bound() -> None:
    program = IntegerProgram()
    only = program.variable(1, cost=1)
    program.at_most([(only, -1)], -2)
    found = minimize(program)
    assert (found.values, found.bound, found.is_impossible) == (None, inf, True)


def test_a_program_without_variables() -> None:
    assert not minimize(IntegerProgram()).is_impossible
    program = IntegerProgram()
    program.at_most([], -1)
    assert minimize(program).is_impossible

"""Fitting in the logarithm: what multiplies a belief, from values seen beside values expected.

Costs and sizes are positive and wrong by factors, so errors are differences of logarithms; nothing learned this way is
ever negative. A belief is as strong as its `precision` says, a value far from what is expected pulls no harder than one
that is moderately off, and the same values give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

Vector: TypeAlias = list[float]
Matrix: TypeAlias = list[list[float]]

Predict: TypeAlias = Callable[[int, Vector], tuple[float, Vector]]
"""Number of the value, logarithms of the multipliers → logarithm of what is expected, and its gradient."""

NOISE = 0.25
"""How far values lie from what is expected when all is known, as a logarithm: about a quarter."""
TOLERANCE = 0.4
"""From here on a value counts as an outlier."""
ROUNDS = 8
_STRIDE = 1.5
_CLOSE = 5e-3
_FLAT = 1e-4


def fit(predict: Predict, seen: Sequence[tuple[float, float]], precision: Matrix) -> Vector:
    """The logarithms of the multipliers that explain `seen`, pairs of a weight and the logarithm of a value.

    They are believed to be 0, by `precision`, the inverse of their covariance.
    """
    size = len(precision)
    found = [0.0] * size
    for _ in range(ROUNDS):
        curvature = [row[:] for row in precision]
        slope = [-sum(p * u for p, u in zip(row, found, strict=True)) for row in precision]
        for i, (weight, value) in enumerate(seen):
            expected, gradient = predict(i, found)
            error = value - expected
            pull = weight / (NOISE * NOISE)
            if abs(error) > TOLERANCE:
                pull *= TOLERANCE / abs(error)
            steep = [(j, g) for j, g in enumerate(gradient) if g > _FLAT or g < -_FLAT]
            for j, g in steep:
                part = pull * g
                slope[j] += part * error
                row = curvature[j]
                for k, h in steep:
                    row[k] += part * h
        step = solve(curvature, slope)
        longest = max(map(abs, step), default=0.0)
        short = min(1.0, _STRIDE / longest) if longest else 1.0
        found = [u + short * s for u, s in zip(found, step, strict=True)]
        if longest < _CLOSE:
            break
    return found


def solve(matrix: Matrix, right: Vector) -> Vector:
    """The solution of `matrix · x = right`; the matrix is symmetric and positive definite, and not kept."""
    size = len(right)
    for i in range(size):
        pivot = matrix[i]
        for row in range(i + 1, size):
            other = matrix[row]
            factor = other[i] / pivot[i]
            if factor:
                for k in range(i, size):
                    other[k] -= factor * pivot[k]
                right[row] -= factor * right[i]
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (right[i] - sum(matrix[i][k] * found[k] for k in range(i + 1, size))) / matrix[i][i]
    return found


def independent(*deviations: float) -> Matrix:
    """The precision of multipliers that say nothing of each other, each believed within its deviation."""
    return [[1 / d**2 if i == j else 0.0 for j in range(len(deviations))] for i, d in enumerate(deviations)]


def alike(count: int, deviation: float, correlation: float) -> Matrix:
    """The precision of `count` multipliers of which each says something of the others."""
    own = 1 / (deviation**2 * (1 - correlation))
    shared = own * correlation / (1 + (count - 1) * correlation)
    return [[own * (i == j) - shared for j in range(count)] for i in range(count)]

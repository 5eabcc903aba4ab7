"""Teaches vectors to tell apart what belongs together from what only sounds alike."""

import numpy as np
import scipy.sparse as sparse


# How often pairs of each kind are drawn, beside each other.
SHARE = {"name": 1.0, "ask": 1.0, "every": 2.0, "cmd": 1.0, "def": 0.7, "rest": 1.0, "par": 0.7, "srv": 1.0}
STEPS = 1600
PAIRS = 384
RATE = 0.15
# How sharp the likeness of the table's and of the teacher's vectors is.
SHARPNESS = 0.1
TEACHER_SHARPNESS = 0.1
# How much the right partner counts, and the rest is what the teacher finds alike.
PARTNER = 0.8
# How much it counts to be near to the teacher's own vector.
NEARNESS = 12.0


def improve(vectors, occurrences, teacher, pairs, random):
    """Steps downhill (Adagrad with one rate for each piece) over draws of pairs, each the others' wrong answers."""
    vectors = vectors.copy()
    length = np.median(np.linalg.norm(vectors, axis=1)) / np.sqrt(vectors.shape[1])
    ones = np.array([one for one, _, _ in pairs])
    others = np.array([other for _, other, _ in pairs])
    share = np.array([SHARE[kind] for _, _, kind in pairs])
    bounds = np.cumsum(share / share.sum())
    slopes = np.zeros(len(vectors), np.float32)
    for step in range(STEPS):
        drawn = np.unique(np.searchsorted(bounds, random.random(PAIRS)))
        drawn = drawn[drawn < len(pairs)]
        pieces, slope = _slope(vectors, occurrences, teacher, ones[drawn], others[drawn])
        slopes[pieces] += (slope * slope).mean(1)
        rate = RATE * length * (1 - step / STEPS)
        vectors[pieces] -= (rate / np.sqrt(slopes[pieces] + 1e-20))[:, None] * slope
    return vectors


def _slope(vectors, occurrences, teacher, ones, others):
    """The pieces of the texts, and where their vectors should not go."""
    count = len(ones)
    texts = np.concatenate([ones, others])
    rows = occurrences[texts]
    pieces, columns = np.unique(rows.indices, return_inverse=True)
    rows = sparse.csr_matrix((rows.data, columns, rows.indptr), (2 * count, len(pieces)))
    sums = rows @ vectors[pieces]
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    units = sums / lengths
    left, right = units[:count], units[count:]
    likeness = left @ right.T / SHARPNESS
    wanted = teacher[ones] @ teacher[others].T / TEACHER_SHARPNESS
    toward = _softmax(likeness) - PARTNER * _same(others) - (1 - PARTNER) * _softmax(wanted)
    back = _softmax(likeness.T) - PARTNER * _same(ones) - (1 - PARTNER) * _softmax(wanted.T)
    both = (toward + back.T) / (2 * count * SHARPNESS)
    slope = np.concatenate([both @ right, both.T @ left]) - NEARNESS * teacher[texts] / len(texts)
    slope = (slope - units * (units * slope).sum(1, keepdims=True)) / lengths
    return pieces, (rows.T @ slope).astype(np.float32)


def _same(texts):
    """A text that is drawn twice is no wrong answer to itself."""
    same = texts[:, None] == texts[None]
    return same / same.sum(1, keepdims=True)


def _softmax(numbers):
    powers = np.exp(numbers - numbers.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)

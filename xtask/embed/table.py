"""Vectors as codes, and the file that `mgp-toolindex/src/embed/table/format.rs` reads."""

import hashlib
import struct

import numpy as np

CODES = 256
ROUNDS = 25
SAMPLE = 60_000


def codebook(vectors, width, random):
    """What codes stand for: the 256 points that `width` members of a vector are nearest to (k-means)."""
    parts = (vectors / _spread(vectors)[:, None]).reshape(-1, width).astype(np.float32)
    parts = parts[random.choice(len(parts), min(SAMPLE, len(parts)), replace=False)]
    points = parts[random.choice(len(parts), CODES, replace=False)].copy()
    for _ in range(ROUNDS):
        codes = _nearest(parts, points)
        counts = np.bincount(codes, minlength=CODES)
        sums = np.stack([np.bincount(codes, parts[:, member], CODES) for member in range(width)], axis=1)
        points[counts > 0] = (sums[counts > 0] / counts[counts > 0, None]).astype(np.float32)
    return points


def encode(vectors, points):
    """The codes of vectors, and what to multiply them with."""
    parts = (vectors / _spread(vectors)[:, None]).reshape(-1, points.shape[1]).astype(np.float32)
    codes = _nearest(parts, points).reshape(len(vectors), -1)
    meant = points[codes].reshape(vectors.shape)
    scales = (meant * vectors).sum(1) / np.maximum((meant * meant).sum(1), 1e-12)
    return codes, _upper_half(scales)


def decode(codes, scales, points):
    scales = (scales.astype(np.uint32) << 16).view(np.float32)
    return points[codes].reshape(len(codes), -1) * scales[:, None]


def write(path, vocabulary, vectors, points):
    """Writes the file and returns its bytes."""
    starting = sorted(word for word in vocabulary if not word.startswith("##"))
    within = sorted(word for word in vocabulary if word.startswith("##"))
    vectors = vectors[[vocabulary[word] for word in starting + within]]
    codes, scales = encode(vectors, points)
    words = _shortened(starting) + _shortened([word[2:] for word in within])
    stranger = float(np.median(np.linalg.norm(vectors, axis=1)))
    body = struct.pack(
        "<IIHHfI", len(vectors), len(starting), vectors.shape[1], points.shape[1], stranger, len(words)
    )
    body += points.astype("<f4").tobytes() + scales.tobytes() + codes.tobytes() + words
    file = b"MGPTABL1" + hashlib.sha256(body).digest() + body
    path.write_bytes(file)
    return file


def _shortened(words):
    """Each word without what it shares with the one before."""
    written, last = bytearray(), b""
    for word in (word.encode("ascii") for word in words):
        shared = 0
        while shared < min(len(last), len(word)) and last[shared] == word[shared]:
            shared += 1
        written += bytes([shared, len(word) - shared]) + word[shared:]
        last = word
    return bytes(written)


def _spread(vectors):
    return np.linalg.norm(vectors, axis=1) / np.sqrt(vectors.shape[1]) + 1e-12


def _nearest(parts, points):
    codes = np.empty(len(parts), np.uint8)
    squares = (points * points).sum(1)
    for at in range(0, len(parts), 65536):
        codes[at : at + 65536] = (squares - 2 * parts[at : at + 65536] @ points.T).argmin(1)
    return codes


def _upper_half(numbers):
    """Floats rounded to the upper half of their bits."""
    bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")

"""Fits vectors of pieces so that the sum of a text's vectors is near to what the teacher makes of the text."""

import re
from collections import Counter

import numpy as np
import scipy.sparse as sparse

from words import HUMP, RUN, TablePieces, TeacherPieces, fold

# A word that BERT takes to pieces gets a vector of its own when so many texts of tools have it.
OFTEN = 5
WORD = re.compile(r"[a-z0-9]+$")


def vocabulary(texts, kinds, bert):
    """The pieces that the table has: BERT's, but for those that no text needs, and words that tools are described with."""
    pieces = TablePieces({word: word for word in bert})
    uses = Counter()
    for text in texts:
        uses.update(set(pieces.of_text(text)))
    seen = {word for word, count in uses.items() if not word.lstrip("#").isdigit() or count >= OFTEN}
    counts = Counter()
    for text, kind in zip(texts, kinds):
        if kind in ("doc", "srv", "par", "name"):
            runs = RUN.findall(fold(text))
            counts.update({part.lower() for run in runs for part in (run, *HUMP.split(run))})
    found = {}
    for word in bert:
        letters = word.removeprefix("##")
        within = letters != word
        if not WORD.match(letters) or word not in seen and is_dispensable(letters, within):
            continue
        found[word] = len(found)
    more = (word for word, count in counts.items() if count >= OFTEN and word not in bert and 3 <= len(word) <= 20)
    for word in sorted(word for word in more if WORD.match(word) and not word.isdigit()):
        found[word] = len(found)
    return found


def is_dispensable(letters, within):
    """Numbers, and parts of words: without single letters there would be words without any vector."""
    return (within and len(letters) > 1) or (letters.isdigit() and len(letters) > 2)


def occurrences(pieces, texts, width):
    """Which pieces a text has: a row for each text."""
    columns, ends = [], [0]
    for text in texts:
        columns += sorted(set(pieces.of_text(text)))
        ends.append(len(columns))
    ones = np.ones(len(columns), np.float32)
    return sparse.csr_matrix((ones, np.array(columns, np.int32), np.array(ends)), (len(texts), width))


class Target:
    """What the teacher's vectors become: centred, rotated, all directions of like weight, cut to a dimension."""

    def __init__(self, vectors, dimension, random):
        self.mean = vectors.mean(0)
        _, spread, directions = np.linalg.svd((vectors - self.mean)[::7], full_matrices=False)
        self.directions = directions[:dimension]
        self.spread = (spread[:dimension] / spread[0]) ** EVENNESS
        # Codes serve every member of a vector alike, so none may hold more than others.
        square = random.standard_normal((dimension, dimension))
        self.rotation = np.linalg.qr(square)[0].astype(np.float32)

    def principal(self, vectors):
        return (vectors - self.mean) @ self.directions.T

    def evened(self, principal):
        return principal / self.spread @ self.rotation


def start(words, bert, of_pieces, target, occurrences):
    """Each piece's own vector from the teacher, the shorter the more often it occurs; new words have the mean of their pieces."""
    teacher = TeacherPieces(bert)
    own = np.stack([of_pieces[bert[word]] if word in bert else of_pieces[teacher.of_word(word)].mean(0) for word in words])
    share = np.asarray(occurrences.sum(0)).ravel()
    share = share / share.sum()
    return ((own - of_pieces.mean(0)) @ target.directions.T) * (RARE / (RARE + share))[:, None].astype(np.float32)


def ridge(occurrences, wanted, vectors):
    """Least squares by conjugate gradients, from `vectors` and not far from them; long texts count by their root."""
    counts = np.asarray(occurrences.sum(1)).ravel()
    rows = (sparse.diags(1 / np.sqrt(np.maximum(counts, 1))) @ occurrences).tocsr()
    columns = rows.T.tocsr()
    first = rows @ vectors
    vectors = vectors * ((wanted * first).sum() / (first**2).sum())
    residual = columns @ (wanted - rows @ vectors)
    change, direction, size = np.zeros_like(vectors), residual.copy(), (residual**2).sum(0)
    for _ in range(RIDGE_STEPS):
        image = columns @ (rows @ direction) + RIDGE * direction
        step = size / np.maximum((direction * image).sum(0), 1e-12)
        change += step * direction
        residual -= step * image
        size, before = (residual**2).sum(0), size
        direction = residual + (size / np.maximum(before, 1e-12)) * direction
    return vectors + change


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


RARE = 1e-3
EVENNESS = 0.5
RIDGE = 0.3
RIDGE_STEPS = 15

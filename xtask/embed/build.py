"""Builds the table of `mgp-toolindex/table` from texts. Run by `cargo xtask embed`."""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np

import contrast
import fit
import table
from teacher import Teacher
from texts import DICTIONARY, Texts
from words import TablePieces

SEED = 7
DIMENSION = 256
# Members of a vector that one code stands for.
WIDTH = 4


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--teacher", type=Path, required=True, help="folder of model.onnx and tokenizer.json")
    arguments.add_argument("--cache", type=Path, required=True, help="folder that keeps what the teacher said")
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("texts", type=Path, nargs="+", help="tools as .jsonl, WordNet as .yaml")
    given = arguments.parse_args()

    teacher = Teacher(given.teacher)
    gathered = Texts(SEED)
    gathered.add_tools([file for file in given.texts if file.suffix == ".jsonl"])
    gathered.add_dictionary([file for file in given.texts if file.suffix == ".yaml"], teacher.vocabulary)
    texts, kinds = gathered.texts, np.array(gathered.kinds)
    print(f"{len(texts)} texts, {len(gathered.pairs)} pairs")

    said = of_texts(teacher, texts, kinds, given.cache)
    vectors, vocabulary = fitted(teacher, texts, kinds, gathered.pairs, said)
    points = table.codebook(vectors, WIDTH, np.random.default_rng(SEED))
    file = table.write(given.out, vocabulary, vectors, points)
    print(f"{len(vocabulary)} pieces, {DIMENSION} members, {len(file)} bytes")
    print(f"sha256 {hashlib.sha256(file).hexdigest()}  {given.out.name}")


def of_texts(teacher, texts, kinds, cache):
    """What the teacher makes of the texts, asked once: those of tools and of the dictionary apart."""
    said = None
    from_dictionary = np.isin(kinds, list(DICTIONARY))
    for chosen in (np.where(~from_dictionary)[0], np.where(from_dictionary)[0]):
        if len(chosen) == 0:
            continue
        wanted = [texts[number] for number in chosen]
        name = hashlib.sha256(json.dumps([teacher.digest, wanted]).encode()).hexdigest()[:16]
        file = cache / f"{name}.npy"
        if not file.exists():
            cache.mkdir(parents=True, exist_ok=True)
            np.save(file, teacher.of_texts(wanted).astype(np.float16))
        part = np.load(file).astype(np.float32)
        if said is None:
            said = np.zeros((len(texts), part.shape[1]), np.float32)
        said[chosen] = part
    return said


def fitted(teacher, texts, kinds, pairs, said):
    """The vectors of the table, and the numbers of their pieces."""
    random = np.random.default_rng(SEED)
    vocabulary = fit.vocabulary(texts, kinds, teacher.vocabulary)
    occurrences = fit.occurrences(TablePieces(vocabulary), texts, len(vocabulary))
    of_tools = said[~np.isin(kinds, list(DICTIONARY))]
    target = fit.Target(of_tools, DIMENSION, random)
    # A question means what the tool does that it asks for; how it asks means nothing.
    meant = said.copy()
    for question, tool, kind in pairs:
        if kind == "ask":
            meant[question] = said[tool]
    wanted = target.principal(meant)
    vectors = fit.start(vocabulary, teacher.vocabulary, teacher.of_pieces(), target, occurrences)
    vectors = target.evened(fit.ridge(occurrences, fit.unit(wanted), vectors))
    vectors /= np.median(np.linalg.norm(vectors, axis=1))
    vectors = contrast.improve(vectors, occurrences, fit.unit(target.evened(wanted)), pairs, random)
    return vectors, vocabulary


if __name__ == "__main__":
    main()

"""Builds the table of `mgp-toolindex/table` from texts. Run by `cargo xtask embed`.

1. Texts are names, sentences and clauses of tools, their parameters and servers, questions made from them, some for two
   tools at once (`texts.py`), uses of commands, meanings of words, and what programs are (`sources.py`).
2. Everyday questions have the verb of a tool or of a use, as people say it who do not know it ("get rid of", "what is
   in"), by `everyday.json` (`everyday.py`).
3. The teacher gives each text a vector, and a question that of its tool. The vectors are centred, rotated onto their
   principal directions, and cut (`fit.py`).
4. Each piece starts with the teacher's vector of itself. Ridge regression brings the sums of pieces near to the vectors
   of the texts (`fit.py`).
5. The principal directions are evened out by half. Gradient steps bring texts that belong together (a name and a
   description, a question and its tool, a word and its meaning) nearer to each other than to others, and keep the sums
   near to the teacher's vectors (`contrast.py`).
6. Two members of a vector at a time become one of 256 codes (`table.py`).
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np

import contrast
import fit
import table
from teacher import Teacher
from texts import Texts
from words import TablePieces

SEED = 7
DIMENSION = 256
# Members of a vector that one code stands for.
WIDTH = 2


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--teacher", type=Path, required=True, help="the .onnx file, beside tokenizer.json")
    arguments.add_argument("--cache", type=Path, required=True, help="folder that keeps what the teacher said")
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--commands", type=Path, required=True, help="folder of tldr, with pages/")
    arguments.add_argument("--meanings", type=Path, required=True, help="folder of WordNet's data.noun and others")
    arguments.add_argument("--packages", type=Path, required=True, help="what apt-cache dumpavail printed")
    arguments.add_argument("texts", type=Path, nargs="+", help="servers as Toucan has them")
    given = arguments.parse_args()

    teacher = Teacher(given.teacher)
    print(f"sha256 {teacher.digest}  {given.teacher.name}")
    gathered = Texts(SEED)
    files = sorted(given.texts, key=lambda file: file.name)
    print_digest("tools", files)
    print_digest("commands", sorted(given.commands.glob("pages/*/*.md")))
    print_digest("meanings", [*sorted(given.meanings.glob("data.*")), given.meanings / "index.sense"])
    print_digest("packages", [given.packages])
    gathered.add_tools(files)
    gathered.add_commands(given.commands)
    gathered.add_meanings(given.meanings)
    gathered.add_packages(given.packages)
    texts, kinds = gathered.texts, np.array(gathered.kinds)
    print(f"{len(texts)} texts, {len(gathered.pairs)} pairs")

    of_tools = np.where(kinds != "ask")[0]
    asked = of_texts(teacher, [texts[number] for number in of_tools], given.cache)
    said = np.zeros((len(texts), asked.shape[1]), np.float32)
    said[of_tools] = asked
    # A question means what the tool does that it asks for; how it asks means nothing.
    for question, meant, _ in gathered.pairs:
        if kinds[question] == "ask":
            said[question] = said[meant]
    vectors, vocabulary = fitted(teacher, texts, kinds, gathered.pairs, said)
    points = table.codebook(vectors, WIDTH, np.random.default_rng(SEED))
    file = table.write(given.out, vocabulary, vectors, points)
    print(f"{len(vocabulary)} pieces, {DIMENSION} members, {len(file)} bytes")
    print(f"sha256 {hashlib.sha256(file).hexdigest()}  {given.out.name}")


def print_digest(name, files):
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    print(f"sha256 {digest}  {name}: {len(files)} files, one behind the other")


def of_texts(teacher, texts, cache):
    """What the teacher makes of texts, asked once."""
    name = hashlib.sha256(json.dumps([teacher.digest, texts]).encode()).hexdigest()[:16]
    file = cache / f"{name}.npy"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(file, teacher.of_texts(texts).astype(np.float16))
    return np.load(file).astype(np.float32)


def fitted(teacher, texts, kinds, pairs, said):
    """The vectors of the table, and the numbers of their pieces."""
    random = np.random.default_rng(SEED)
    vocabulary = fit.vocabulary(texts, kinds, teacher.vocabulary)
    occurrences = fit.occurrences(TablePieces(vocabulary), texts, len(vocabulary))
    target = fit.Target(said[kinds != "ask"], DIMENSION, random)
    wanted = target.principal(said)
    vectors = fit.start(vocabulary, teacher.vocabulary, teacher.of_pieces(), target, occurrences)
    vectors = target.evened(fit.ridge(occurrences, fit.unit(wanted), vectors))
    vectors /= np.median(np.linalg.norm(vectors, axis=1))
    vectors = contrast.improve(vectors, occurrences, fit.unit(target.evened(wanted)), pairs, random)
    return vectors, vocabulary


if __name__ == "__main__":
    main()

"""Texts about everyday things, beside those of tools: what commands are good for, what words mean, what programs are."""

import re

NO_USE = ("More information", "See also", "Note:", "View documentation")
# Kinds of things that nobody asks a tool for: animals, plants, natural things, substances.
LEFT_OUT = {5, 17, 20, 27}
PARTS_OF_SPEECH = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
# Packages for programs, not for people.
FOR_PROGRAMS = re.compile(
    r"(lib|fonts-|golang-|node-|r-|ruby-|php-|python3-|haskell|ghc|texlive|linux-|gcc|g\+\+)"
    r"|.*-(dev|doc|dbg|data|common|dbgsym|l10n|locale)\b"
)


def commands(folder):
    """The pages of tldr: the name of a command, what it is, and what it is used for."""
    for page in sorted(folder.glob("pages/*/*.md")):
        lines = [line.strip() for line in page.read_text(encoding="utf-8").splitlines()]
        name = next(line.lstrip("# ") for line in lines if line.startswith("#"))
        about = [_plain(line[1:]) for line in lines if line.startswith(">")]
        uses = [_plain(line[2:].rstrip(":")) for line in lines if line.startswith("- ")]
        yield (
            name,
            [line for line in about if not line.startswith(NO_USE)],
            [use for use in uses if "documentation for" not in use],
        )


def meanings(folder):
    """The words of WordNet that its texts were found to use, and all verbs with synonyms: words, meaning, examples."""
    used = _uses(folder / "index.sense")
    for name, letter in PARTS_OF_SPEECH.items():
        for line in (folder / f"data.{name}").read_text(encoding="latin-1").splitlines():
            if line.startswith(" "):
                continue
            data, _, gloss = line.partition(" | ")
            fields = data.split()
            count = int(fields[3], 16)
            is_common = used.get((letter, fields[0]), 0) > 0 or (letter == "v" and count > 1)
            if not is_common or "@i" in fields or int(fields[1]) in LEFT_OUT:
                continue
            words = [re.sub(r"\(.*\)", "", fields[4 + 2 * at]).replace("_", " ") for at in range(count)]
            yield words, gloss.split('; "')[0].strip().strip('"'), re.findall(r'"([^"]+)"', gloss)


def packages(file):
    """What the packages are that people install, a line each, from the output of `apt-cache dumpavail`."""
    seen = set()
    name = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        field, _, value = line.partition(": ")
        if field == "Package":
            name = value
        elif field == "Description" and not FOR_PROGRAMS.match(name):
            told = re.split(r" - | -- ", re.sub(r"\s*\(.*?\)", "", value))[0].strip()
            if told not in seen:
                seen.add(told)
                yield told


def _uses(senses):
    """How often each meaning was found in texts."""
    uses = {}
    for line in senses.read_text(encoding="latin-1").splitlines():
        key, offset, _, count = line.split()
        # Satellites of adjectives (5) are kept with adjectives.
        letter = "nvara"[int(key.partition("%")[2][0]) - 1]
        uses[letter, offset] = uses.get((letter, offset), 0) + int(count)
    return uses


def _plain(text):
    """Text without the marks of Markdown, and without the brackets of tldr around the letters of options."""
    return re.sub(r"[`<>]", "", re.sub(r"\[(\w)\]", r"\1", text)).strip()

"""What the table learns from: texts of tools and of a dictionary, and pairs of texts that belong together."""

import json
import random
import re
from collections import defaultdict

from words import HUMP

ASK = [
    "I need to {}.", "Can you {} for me?", "How do I {}?", "I want to {}, please.", "Could you help me {}?",
    "What is the best way to {}?", "Is there a way to {}?", "Please {}.", "I would like to {}.", "Help me {}",
    "I'm looking for something that can {}.", "{} now",
]
ASK_TWO = ["I need to {}, and also {}.", "{} and then {}", "Can you {}? I also want to {}."]
TWO_NEEDS = 6000
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
CLAUSE_END = re.compile(r"[;,:]|\band\b|\bor\b|\bto\b|\bfor\b")
# What a page around a description left in it.
NOT_WRITTEN = re.compile(r"Deploy Server|Try in Playground|Description not available")
# Words of animals and plants are many, and tools are seldom about them.
SELDOM = {"animal", "plant", "person", "Tops", "body"}
DICTIONARY = {"gloss", "word", "example"}


class Texts:
    """All texts once each, what kind each is, and the pairs (one, other, kind)."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = {}
        self.kinds = []
        self.pairs = []

    @property
    def texts(self):
        return list(self.numbers)

    def add(self, text, kind):
        text = clean(text)[:400]
        if len(text) < 2:
            return None
        if text not in self.numbers:
            self.numbers[text] = len(self.kinds)
            self.kinds.append(kind)
        return self.numbers[text]

    def pair(self, one, other, kind):
        if one is not None and other is not None and one != other:
            self.pairs.append((one, other, kind))

    def add_tools(self, files):
        """Tools as lines of JSON: names, descriptions and their sentences, parameters, and questions made of them."""
        tools, seen = [], set()
        for file in files:
            for line in open(file, encoding="utf-8"):
                tool = json.loads(line)
                description = tool.get("description") or ""
                if NOT_WRITTEN.search(description):
                    description = ""
                name = spoken(tool["name"])
                if (name, clean(description)) not in seen:
                    seen.add((name, clean(description)))
                    tools.append((tool, name, description))
        described, needs = set(), []
        for tool, name, description in tools:
            self._add_tool(tool, name, description, described, needs)
        for _ in range(TWO_NEEDS if len(needs) > 1 else 0):
            (one, _), (other, _) = self.random.sample(needs, 2)
            self.add(self.random.choice(ASK_TWO).format(one, other), "multi")

    def _add_tool(self, tool, name, description, described, needs):
        found = sentences(description)
        server = spoken(re.sub(r"^@?[^_/]*[_/]", "", tool["server"]))
        named = self.add(name, "name")
        short = self.add(f"{name}. {clean(description)}", "doc") if found else None
        long = self.add(f"{server}. {name}. {clean(description)}", "doc")
        self.pair(named, short or long, "name")
        if found:
            first = self.add(found[0], "sent")
            self.pair(named, first, "name")
            for sentence in found[1:4]:
                self.pair(self.add(sentence, "sent"), first, "rest")
            need = wish(found[0])
            self.pair(self.add(self.random.choice(ASK).format(need), "ask"), short, "ask")
            needs.append((need, short))
            for clause in CLAUSE_END.split(found[0]):
                if len(clause.split()) >= 3:
                    self.add(clause, "clause")
        self.pair(self.add(self.random.choice(ASK).format(name), "ask"), short or long, "ask")
        parameters = (tool.get("inputSchema") or {}).get("properties") or {}
        for parameter, schema in list(parameters.items())[:8]:
            means = schema.get("description") if isinstance(schema, dict) else None
            if means:
                self.pair(self.add(f"{spoken(parameter)}: {means}", "par"), short or long, "par")
        about = tool.get("serverDescription") or ""
        if about not in described:
            described.add(about)
            lines = [self.add(sentence, "srv") for sentence in sentences(about)]
            for one, other in zip(lines, lines[1:]):
                self.pair(one, other, "srv")
            if lines:
                self.pair(self.add(server, "name"), lines[0], "srv")

    def add_dictionary(self, files, common):
        """WordNet as YAML: words, what they mean, and an example. Words with parts that are not `common` are left out."""
        for file in sorted(files):
            kind, _, field = file.name.removesuffix(".yaml").partition(".")
            if (kind, field) != ("adj", "all") and (kind not in ("noun", "verb") or field in SELDOM):
                continue
            for block in re.split(r"\n(?=\d{8}-)", file.read_text(encoding="utf-8")):
                self._add_meaning(block, common)

    def _add_meaning(self, block, common):
        lists, current = defaultdict(list), None
        for line in block.split("\n")[1:]:
            if re.match(r"  \w+:", line):
                current = line.strip().split(":")[0]
            elif line.startswith("  - "):
                lists[current].append(line[4:])
            elif line.startswith("    ") and lists[current]:
                lists[current][-1] += " " + line.strip()
        words = [word.strip("'\"") for word in lists["members"]]
        words = [word for word in words if re.fullmatch(r"[a-zA-Z][a-zA-Z \-']*", word) and is_common(word, common)]
        meanings = [meaning.strip("'\"") for meaning in lists["definition"]]
        if not words or not meanings:
            return
        meaning = self.add(meanings[0], "gloss")
        self.pair(self.add(", ".join(words[:4]), "word"), meaning, "gloss")
        for example in lists["example"][:1]:
            self.add(example.strip("'\""), "example")


def clean(text):
    return re.sub(r"\s+", " ", text).strip()


def spoken(name):
    """A name for programs, as one would say it."""
    return clean(re.sub(r"[_\-./:]+", " ", HUMP.sub(" ", name)).lower())


def sentences(text):
    parts = (clean(part).strip("-*#• ") for part in SENTENCE_END.split(text))
    return [part for part in parts if len(part) >= 12]


def wish(sentence):
    """What a tool does, as somebody wants it done: "Gets the weather." becomes "get the weather"."""
    words = sentence.rstrip(".!").split()
    if words and words[0][:1].isupper() and words[0][1:].islower():
        words[0] = without_ending(words[0].lower())
    return " ".join(words[:24])


def without_ending(verb):
    if verb.endswith("ies") and len(verb) > 4:
        return verb[:-3] + "y"
    if re.search(r"(ches|shes|sses|xes|zes)$", verb):
        return verb[:-2]
    if verb.endswith("s") and not verb.endswith("ss") and len(verb) > 3:
        return verb[:-1]
    return verb


def is_common(word, common):
    return all(part.lower() in common for part in re.split(r"[ \-']+", word) if part)

"""What the table learns from: texts of tools, and pairs of texts that belong together."""

import json
import random
import re

import everyday
import sources
from words import HUMP

ASK = [
    "I need to {}.", "Can you {} for me?", "How do I {}?", "I want to {}, please.", "Could you help me {}?",
    "What is the best way to {}?", "Is there a way to {}?", "Please {}.", "I would like to {}.", "Help me {}",
    "I'm looking for something that can {}.", "{} now",
]
ASK_TWO = ["I need to {}, and also {}.", "{} and then {}", "Can you {}? I also want to {}."]
TWO_NEEDS = 6000
# How many everyday questions are made for a tool, and for a use of a command.
OF_TOOL = 4
OF_USE = 2
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
CLAUSE_END = re.compile(r"[;,:]|\band\b|\bor\b|\bto\b|\bfor\b")
# What a page around a description left in it.
NOT_WRITTEN = re.compile(r"Deploy Server|Try in Playground|Description not available")
# In the names of Toucan's files: a number, and whose the server is.
OWNER = re.compile(r"^(\w+_)?\d+\.(@?[^_]*_)?")


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
        """Servers as Toucan has them: names of tools, what they do, their parameters, and questions made of them."""
        seen, needs = set(), []
        for file in files:
            server = json.loads(file.read_text(encoding="utf-8"))["metadata"]["server_info_crawled"]
            named = spoken(OWNER.sub("", file.stem.removesuffix("_labeled")))
            for tool in server["tools"]:
                description = tool["description"] or ""
                if NOT_WRITTEN.search(description):
                    description = ""
                name = spoken(tool["name"])
                if (name, clean(description)) not in seen:
                    seen.add((name, clean(description)))
                    self._add_tool(named, name, description, tool.get("input_schema"), needs)
            self._add_server(named, server["overview"] or "")
        for _ in range(TWO_NEEDS if len(needs) > 1 else 0):
            one, other = self.random.sample(needs, 2)
            self.add(self.random.choice(ASK_TWO).format(one, other), "multi")

    def _add_tool(self, server, name, description, schema, needs):
        found = sentences(description)
        named = self.add(name, "name")
        # Questions that belong to the text with the server's words would be drawn to all tools of the server.
        short = self.add(f"{name}. {clean(description)}", "doc") if found else None
        long = self.add(f"{server}. {name}. {clean(description)}", "doc")
        tool = short or long
        self.pair(named, tool, "name")
        if found:
            first = self.add(found[0], "sent")
            self.pair(named, first, "name")
            for sentence in found[1:4]:
                self.pair(self.add(sentence, "sent"), first, "rest")
            need = wish(found[0])
            self.pair(self.add(self.random.choice(ASK).format(need), "ask"), tool, "ask")
            needs.append(need)
            self._ask(need, tool, OF_TOOL)
            for clause in CLAUSE_END.split(found[0]):
                if len(clause.split()) >= 3:
                    self.add(clause, "clause")
        self.pair(self.add(self.random.choice(ASK).format(name), "ask"), tool, "ask")
        for parameter, means in list(((schema or {}).get("properties") or {}).items())[:8]:
            if isinstance(means, dict) and means.get("description"):
                self.pair(self.add(f"{spoken(parameter)}: {means['description']}", "par"), tool, "par")

    def _add_server(self, server, overview):
        lines = [self.add(sentence, "srv") for sentence in sentences(overview)[:4]]
        for one, other in zip(lines, lines[1:]):
            self.pair(one, other, "srv")
        if lines:
            self.pair(self.add(server, "name"), lines[0], "srv")

    def add_commands(self, folder):
        """What commands are, what they are used for, and questions made of that."""
        for name, about, uses in sources.commands(folder):
            command = None
            if about:
                command = self.add(f"{name}. {' '.join(about)}", "cmd")
                self.pair(command, self.add(about[0], "sent"), "cmd")
            for use in uses:
                told = self.add(use, "sent")
                self.pair(told, command, "cmd")
                self._ask(wish(use), told, OF_USE)

    def add_meanings(self, folder):
        """Words, what they mean, and sentences that have them."""
        for words, meaning, examples in sources.meanings(folder):
            told = self.add(meaning, "gloss")
            for word in words[:4]:
                if len(word) > 2:
                    self.pair(self.add(word, "word"), told, "def")
            for example in examples[:2]:
                self.add(example, "example")

    def add_packages(self, file):
        for told in sources.packages(file):
            self.add(told, "package")

    def _ask(self, need, meant, times):
        for _ in range(times):
            question = everyday.question(need, self.random)
            if question:
                self.pair(self.add(question, "ask"), meant, "every")


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

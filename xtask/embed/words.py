"""Where texts fall into words and pieces: as BERT has it for the teacher, and as `embed/table` has it for the table."""

import re
import unicodedata

HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
RUN = re.compile(r"[A-Za-z0-9]+")


class TeacherPieces:
    """The numbers of the pieces of a text in BERT's vocabulary."""

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.unknown = vocabulary["[UNK]"]
        self.known = {}

    def of_word(self, word):
        if word not in self.known:
            self.known[word] = self._split(word)
        return self.known[word]

    def of_text(self, text):
        return [piece for word in bert_words(text) for piece in self.of_word(word)]

    def _split(self, word):
        if len(word) > 100:
            return [self.unknown]
        found, at = [], 0
        while at < len(word):
            end = len(word)
            while end > at and (("##" if at else "") + word[at:end]) not in self.vocabulary:
                end -= 1
            if end == at:
                return [self.unknown]
            found.append(self.vocabulary[("##" if at else "") + word[at:end]])
            at = end
        return found


class TablePieces:
    """The numbers of the pieces of a text in the table.

    A run of letters and digits that is known as a whole is one piece; a number that is not known is none; other runs
    fall into their humps, and those into the longest pieces there are.
    """

    def __init__(self, vocabulary):
        self.vocabulary = vocabulary
        self.known = {}

    def of_text(self, text):
        return [piece for run in RUN.findall(fold(text)) for piece in self.of_run(run)]

    def of_run(self, run):
        if run not in self.known:
            whole = run.lower()
            if whole in self.vocabulary:
                self.known[run] = [self.vocabulary[whole]]
            elif run.isdigit():
                self.known[run] = []
            else:
                self.known[run] = [piece for hump in HUMP.split(run) for piece in self._split(hump.lower())]
        return self.known[run]

    def _split(self, hump):
        found, at = [], 0
        while at < len(hump):
            end = min(len(hump), at + LONGEST)
            while end > at and (("##" if at else "") + hump[at:end]) not in self.vocabulary:
                end -= 1
            if end == at:
                at += 1
                continue
            found.append(self.vocabulary[("##" if at else "") + hump[at:end]])
            at = end
        return found


def fold(text):
    """Latin letters without their accents, in one way of writing."""
    if text.isascii():
        return text
    folded = []
    for letter in unicodedata.normalize("NFKC", text):
        if ord(letter) < 0x250 or 0x1E00 <= ord(letter) < 0x1F00:
            parts = unicodedata.normalize("NFD", letter)
            folded.append("".join(part for part in parts if not unicodedata.combining(part)))
        else:
            folded.append(letter)
    return "".join(folded)


def bert_words(text):
    """The words and marks that BERT sees, in lower case and without accents."""
    text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFD", text)
        text = "".join(letter for letter in text if unicodedata.category(letter) != "Mn")
    words, word = [], []

    def end():
        if word:
            words.append("".join(word))
            word.clear()

    for letter in text:
        if letter.isspace() or letter in "\0\ufffd":
            end()
        elif _is_mark(letter) or _is_chinese(ord(letter)):
            end()
            words.append(letter)
        elif unicodedata.category(letter) not in ("Cc", "Cf"):
            word.append(letter)
    end()
    return words


def _is_mark(letter):
    code = ord(letter)
    ascii_mark = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
    return ascii_mark or unicodedata.category(letter)[0] == "P"


def _is_chinese(code):
    blocks = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))
    return any(first <= code <= last for first, last in blocks)


# No piece of a table has more letters.
LONGEST = 24

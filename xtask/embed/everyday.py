"""Questions as people ask them who do not know a tool's words: "get rid of my old mails", not "delete messages"."""

import json
import re
from pathlib import Path

WORDS = json.loads(Path(__file__).with_name("everyday.json").read_text(encoding="utf-8"))
FIRST_WORD = re.compile(r"([a-z]+)\b(.*)", re.DOTALL)
# How a tool does it is not asked for.
MANNER = re.compile(r"\b(by|based on|using|with the|within the|from the specified|given its)\b.*$")
GIVEN = re.compile(r"\b(the|a|an) (specified|given|provided|specific|existing|particular) ?")
ARTICLE = re.compile(r"\b(a|an|the)\b")
LENGTHS = [5, 8, 12, 20]


def question(need, random):
    """A way to ask for what `need` says, which begins with a verb; None for a verb without everyday words."""
    found = FIRST_WORD.match(need)
    if not found or found[1] not in WORDS["verbs"]:
        return None
    rest = found[2].split(". ")[0].strip().rstrip(".")
    if random.random() < 0.6:
        rest = MANNER.sub("", rest).strip()
    rest = GIVEN.sub(lambda _: random.choice(WORDS["own"]) + " ", rest)
    if random.random() < 0.5:
        rest = ARTICLE.sub(lambda article: random.choice([article[0], *WORDS["own"]]), rest, count=1)
    words = rest.split()[: random.choice(LENGTHS)]
    if not words:
        return None
    said = " ".join([random.choice(WORDS["verbs"][found[1]]), *words])
    return random.choice(WORDS["openings"]).format(said)

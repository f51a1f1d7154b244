"""The start of a study: the question's compounds and prototypes, and the element table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hepbench.harness.scientist.bench import Bench
from hepbench.harness.scientist.conversation import Answer, Call
from hepbench.harness.scientist.descriptors import describer
from hepbench.harness.scientist.elements import ASKED
from hepbench.harness.scientist.formula import pattern_of
from hepbench.harness.scientist.notebook import Idea, Notebook
from hepbench.harness.scientist.relatives import Guide, Relatives
from hepbench.harness.scientist.script import Script, Turn, one
from hepbench.harness.scientist.space import space

NOT_AN_LLM = "Scripted policy, not an LLM."
ELEMENTS_AT_A_TIME = 40
"""What one call of element_properties takes."""


@dataclass
class Study:
    """Everything that one replay of the conversation has brought.

    Attributes:
        bench: Measurements.
        book: Hypotheses.
        family: What the compounds are called.
        label_name: What the label is called, such as "polymorph".
        rules: Rules for the whole family, in the order they were made, each with its hypothesis.
    """

    bench: Bench = field(default_factory=Bench)
    book: Notebook = field(default_factory=Notebook)
    family: str = "compounds"
    label_name: str = "phase"
    rules: list[tuple[Idea | None, Relatives]] = field(default_factory=list)

    @property
    def kept(self) -> Relatives | None:
        """The rule that the study ends with: the last that is supported, or else the last.

        It draws on all that is measured by now.
        """
        return self.guide.newest if self.guide else None

    @property
    def guide(self) -> Guide | None:
        """What predictions are made from: the rule kept, and the first supported one that has classes.

        Every compound measured since a rule was stated has tested it, so the first stood the most tests.
        Without a registry none stood any that is on record, and the rule kept serves for all.
        """
        supported = [rule for idea, rule in self.rules if idea is not None and idea.state == "supported"]
        last = (supported or [rule for _, rule in self.rules])[-1:]
        if not last:
            return None
        first = next((rule for rule in supported if rule.rules.rules), last[0])
        cases = tuple(self.bench.trusted)
        return Guide(replace(last[0], cases=cases), replace(first, cases=cases))


def orient(study: Study) -> Script[None]:
    """Ask what there is to measure, and for the elements that may matter."""
    say = f"{NOT_AN_LLM} I begin with the candidates: which prototypes, which compounds, which budget."
    answer = yield from one(say, "list_prototypes")
    _take_down(study, answer)
    pattern = pattern_of(study.bench.compounds)
    if pattern is None:
        return
    own = list(dict.fromkeys(e for c in study.bench.compounds for e in pattern.elements(c)))
    table = yield from _element_table(own, own, "Element data of these compounds.")
    compounds = study.bench.compounds
    study.bench.space = space(describer(pattern, table, compounds), compounds)


def look_ahead(study: Study) -> Script[None]:
    """Element data of what a sealed compound may hold: asked last, so that it is not carried along."""
    known = study.bench.space.describer
    if known is None:
        return
    wanted = [e for e in ASKED if e not in known.table]
    rows = yield from _element_table(wanted, [], "Elements that I may be asked about, before I end.")
    study.bench.space = replace(study.bench.space, describer=replace(known, table={**known.table, **rows}))


def _take_down(study: Study, answer: Answer) -> None:
    data = answer.data
    study.family = str(data.get("family", study.family))
    study.label_name = str(data.get("label_name", study.label_name))
    rows = [r for r in data.get("prototypes") or () if isinstance(r, dict) and "name" in r]
    study.bench.labels = {str(r["name"]): str(r.get("label", r["name"])) for r in rows}
    study.bench.compounds = tuple(map(str, data.get("exploration_compounds") or ()))
    study.bench.budget = float(data.get("budget_left", study.bench.budget))


def _element_table(wanted: Sequence[str], sure: Sequence[str], say: str) -> Script[dict[str, Any]]:
    """Rows for the elements wanted; of a call that is refused, for those that were not the reason."""
    chunks = [wanted[i : i + ELEMENTS_AT_A_TIME] for i in range(0, len(wanted), ELEMENTS_AT_A_TIME)]
    answers = yield Turn(say, tuple(_ask(chunk) for chunk in chunks))
    table: dict[str, Any] = {}
    for chunk, answer in zip(chunks, answers, strict=True):
        heard = answer
        if not answer.ok and (known := _without_refused(chunk, answer.refusal, sure)):
            (heard,) = yield Turn("Again, without what was refused.", (_ask(known),))
        table |= {str(r["element"]): r for r in heard.data.get("elements") or () if "element" in r}
    return table


def _ask(elements: Sequence[str]) -> Call:
    return Call("element_properties", {"elements": list(elements)})


def _without_refused(chunk: Sequence[str], refusal: str, own: Sequence[str]) -> list[str]:
    """The elements that the refusal does not name; the family's own where it names none."""
    reason, _, _ = refusal.partition("A valid call")
    named = set(re.findall(r"\b[A-Z][a-z]?\b", reason))
    known = [e for e in chunk if e not in named]
    return known if len(known) < len(chunk) else [e for e in chunk if e in own and len(own) < len(chunk)]

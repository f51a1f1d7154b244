"""The story of a run: where each hypothesis came from, what was found about it, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from hepbench.harness.protocol.events import Event
from hepbench.harness.protocol.state import Evidence, Hypothesis, RunState, fold
from hepbench.harness.text import clean, shorten
from hepbench.reports.journal_table import events_table, words

_STYLES = {"supported": "green", "refuted": "red", "dormant": "yellow"}
_MARKS = {"supported": "✓", "refuted": "✗", "dormant": "…", "under_test": "?", "proposed": "○"}
_SIGNS = {"supports": "+", "contradicts": "−", "inconclusive": "="}


class StoryError(Exception):
    """There is no such hypothesis, or no record; one line."""


@dataclass(frozen=True)
class Story:
    """One run.

    Attributes:
        name: Sample and epoch.
        events: Its record.
        state: What the events make.
    """

    name: str
    events: Sequence[Event]
    state: RunState

    def hypothesis(self, wanted: str) -> Hypothesis:
        """The hypothesis of that id.

        Raises:
            StoryError: there is none.
        """
        found = self.state.hypotheses.get(wanted)
        if found is None:
            known = ", ".join(self.state.hypotheses) or "none"
            raise StoryError(f"{self.name}: there is no hypothesis {_line(wanted, 40)}; there are: {known}")
        return found

    def events_of(self, hypothesis: Hypothesis) -> list[Event]:
        """The hypothesis's own slice of the record."""
        return [self.events[seq - 1] for seq in hypothesis.event_seqs]


def story(name: str, events: Sequence[Event]) -> Story:
    """The story that these events tell.

    Raises:
        StoryError: they are no record of a run.
    """
    try:
        return Story(name, events, fold(events))
    except (ValueError, KeyError) as e:
        raise StoryError(f"{name}: the record cannot be read: {_line(str(e), 200)}") from e


def tree(found: Story) -> RenderableType:
    """All hypotheses: children below their first parent, evidence and verdict with each."""
    trunk = Tree(Text(_title(found), style="bold"))
    branches: dict[str, Tree] = {}
    for h in found.state.hypotheses.values():
        above = branches.get(h.parents[0], trunk) if h.parents else trunk
        branches[h.id] = above.add(_branch(h))
        for e in h.evidence:
            branches[h.id].add(Text(_evidence(e), style="dim"))
    return trunk


def _title(found: Story) -> str:
    state = found.state
    ends = [h.state for h in state.hypotheses.values()]
    counts = ", ".join(f"{ends.count(s)} {s.replace('_', ' ')}" for s in dict.fromkeys(ends))
    ended = f"ended: {_line(state.ended, 60)}" if state.ended is not None else "not ended"
    return f"{_line(found.name, 80)}: {len(ends)} hypotheses ({counts or 'none'}); {ended}"


def _branch(h: Hypothesis) -> Text:
    lineage = h.mechanism if len(h.parents) < 2 else f"{h.mechanism} of {', '.join(h.parents)}"  # noqa: PLR2004
    again = f", reopened {h.reopened}×" if h.reopened else ""
    verdict = f"{_MARKS[h.state]} {h.state}"
    return Text.assemble(
        (h.id, "bold"),
        f" {lineage}  P {h.prior:g} → {h.belief:g}  ",
        (verdict, _STYLES.get(h.state, "")),
        f"{again}\n{_line(h.statement, 300)}",
    )


def _evidence(e: Evidence) -> str:
    trust = "" if e.trusted else f"  not trusted: {'; '.join(e.failed_checks)}"
    audit = f" ({e.audit} by the auditor)" if e.audit else ""
    return _line(f"{_SIGNS[e.stance]} {e.id} {', '.join(e.results)}{audit}: {e.summary}{trust}", 300)


def one(found: Story, wanted: str) -> RenderableType:
    """One hypothesis with its whole event log.

    Raises:
        StoryError: there is none of that id.
    """
    h = found.hypothesis(wanted)
    facts = f"prior {h.prior:g}: generation {h.generation}; parents {', '.join(h.parents) or 'none'}"
    scope = f"; about {', '.join(h.scope)}" if h.scope else ""
    return Group(_branch(h), Text(f"{facts}{scope}", style="dim"), Text(), events_table(found.events_of(h)))


def to_json(stories: Sequence[Story], wanted: str | None = None) -> str:
    """The stories as JSON; one hypothesis comes with its events.

    Raises:
        StoryError: there is no hypothesis of that id.
    """
    rows = [
        {
            "run": s.name,
            "ended": s.state.ended,
            "hypotheses": [_as_json(s, h, wanted) for h in _chosen(s, wanted)],
        }
        for s in stories
    ]
    return json.dumps(rows, indent=1, ensure_ascii=False)


def _as_json(found: Story, h: Hypothesis, wanted: str | None) -> dict[str, Any]:
    row: dict[str, Any] = {k: v for k, v in asdict(h).items() if k not in ("words", "event_seqs")}
    if wanted is not None:
        row["events"] = [event.model_dump(mode="json") for event in found.events_of(h)]
    return row


def _chosen(found: Story, wanted: str | None) -> list[Hypothesis]:
    return list(found.state.hypotheses.values()) if wanted is None else [found.hypothesis(wanted)]


def to_markdown(stories: Sequence[Story], wanted: str | None = None) -> str:
    """The stories as Markdown.

    Raises:
        StoryError: there is no hypothesis of that id.
    """
    return "\n".join(line for s in stories for line in _markdown(s, wanted)) + "\n"


def _markdown(found: Story, wanted: str | None) -> Iterator[str]:
    yield f"## {_md(_title(found))}\n"
    yield from ("| id | from | P(H) | state | evidence | statement |", "| --- " * 6 + "|")
    for h in _chosen(found, wanted):
        lineage = " ".join((h.mechanism, *h.parents))
        evidence = " ".join(f"{_SIGNS[e.stance]}{e.id}{'' if e.trusted else '!'}" for e in h.evidence)
        cells = (h.id, lineage, f"{h.prior:g} → {h.belief:g}", h.state, evidence, h.statement)
        yield "| " + " | ".join(_md(cell) for cell in cells) + " |"
    if wanted is not None:
        yield ""
        for event in found.events_of(found.hypothesis(wanted)):
            yield f"{event.seq}. {event.type}: {_md(words(event))}"
    yield ""


def _md(text: str) -> str:
    """Text that Markdown shows as it is, whatever an agent wrote."""
    escaped = clean(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "\\`")
    return shorten(" ".join(escaped.split()), 2_000)


def _line(text: str | None, limit: int) -> str:
    return shorten(" ".join(clean(text or "").split()), limit)

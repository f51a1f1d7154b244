"""The verdict as banner, Markdown, JSON and JUnit XML. All say the same: they are made from one object."""

from __future__ import annotations

import json
from collections import Counter
from xml.etree import ElementTree as ET

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from hepbench.benchmark.check.gate import WAS_RUN, Check, Outcome, Verdict
from hepbench.benchmark.leaderboard.plain import line, markdown_text

_NAMED = 6
"""Entries that were not run which the terminal names; the other forms have them all."""

_FEW = 12
"""Checks that passed which the terminal lists one by one; more are counted."""

_LONG = 15
"""Rows of the table after which the verdict is said again."""

_SAYS = {
    Outcome.PASS: "nothing is worse than the baseline by more than the margin",
    Outcome.FAIL: "something is worse than the baseline, changed, or missing",
    Outcome.INCONCLUSIVE: "the runs do not suffice to say",
    Outcome.REFUSED: "these runs cannot be held against this baseline",
}
_COLOURS = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.INCONCLUSIVE: "yellow",
    Outcome.REFUSED: "magenta",
}
_MARKS = {Outcome.PASS: "✅", Outcome.FAIL: "❌", Outcome.INCONCLUSIVE: "❔", Outcome.REFUSED: "⛔"}


def banner(verdict: Verdict) -> str:
    """The verdict in one line."""
    return f"{verdict.outcome.name} (exit code {int(verdict.outcome)}): {_SAYS[verdict.outcome]}"


def to_terminal(verdict: Verdict) -> RenderableType:
    """Banner and one line for each check, the gravest first; entries that were not run in one line."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    for _ in ("of", "what", "message"):
        table.add_column(overflow="fold")
    passed = [check for check in verdict.checks if check.outcome is Outcome.PASS]
    brief = len(passed) > _FEW
    for check in _by_gravity(verdict):
        if check.what != WAS_RUN and not (brief and check.outcome is Outcome.PASS):
            style = _COLOURS[check.outcome]
            cells = (line(check.of), line(check.what), line(check.message, 600))
            table.add_row(Text(check.outcome.name, style=style), *map(Text, cells))
    notes = [Text(line(text, 2_000), style=_COLOURS[Outcome.FAIL]) for text in _not_run(verdict)]
    notes += [Text(_counted(passed), style=_COLOURS[Outcome.PASS])] if brief else []
    notes += [Text(f"Note: {line(note)}") for note in verdict.notes]
    said = Text(banner(verdict), style=f"bold {_COLOURS[verdict.outcome]}")
    again = [said] if table.row_count > _LONG else []  # what stands above has left the screen
    return Group(said, table, *notes, *again)


def _counted(passed: list[Check]) -> str:
    counts = Counter(check.what for check in passed)
    return f"PASS  {len(passed)} checks: {'; '.join(f'{what} ({count})' for what, count in counts.items())}"


def _not_run(verdict: Verdict) -> list[str]:
    names = [check.of for check in verdict.checks if check.what == WAS_RUN]
    if not names:
        return []
    entries = "1 entry" if len(names) == 1 else f"{len(names)} entries"
    shown = "; ".join(names[:_NAMED]) + (f"; and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return [f"FAIL  {entries} of the baseline: no run in the logs ({shown}); --partial notes them instead"]


def _by_gravity(verdict: Verdict) -> list[Check]:
    order = (Outcome.REFUSED, Outcome.FAIL, Outcome.INCONCLUSIVE, Outcome.PASS)
    return sorted(verdict.checks, key=lambda check: (order.index(check.outcome), check.what == WAS_RUN))


def to_markdown(verdict: Verdict) -> str:
    """A GitHub step summary."""
    checks = _by_gravity(verdict)
    open_ones = [check for check in checks if check.outcome is not Outcome.PASS]
    passed = [check for check in checks if check.outcome is Outcome.PASS]
    head = [f"## {_MARKS[verdict.outcome]} hepbench check: {banner(verdict)}", ""]
    table = _markdown(open_ones) if open_ones else []
    if passed:
        summary = f"<details><summary>{len(passed)} checks passed</summary>"
        table += ["", summary, "", *_markdown(passed), "", "</details>"]
    notes = ["", *(f"Note: {markdown_text(note)}" for note in verdict.notes)] if verdict.notes else []
    return "\n".join([*head, *table, *notes]) + "\n"


def _markdown(checks: list[Check]) -> list[str]:
    rows = [
        f"| {_MARKS[c.outcome]} {c.outcome.name} | {markdown_text(c.of)} | {markdown_text(c.what)} "
        f"| {markdown_text(c.message, 600)} |"
        for c in checks
    ]
    return ["| outcome | of | check | what was seen |", "| --- | --- | --- | --- |", *rows]


def to_json(verdict: Verdict) -> str:
    """Everything, for programs."""
    document = verdict.model_dump(mode="json")
    for part in (document, *document["checks"]):
        part["outcome"] = Outcome(part["outcome"]).name
    document = {"schema": "hepbench.check/1", **document, "exit_code": int(verdict.outcome)}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def to_junit(verdict: Verdict) -> str:
    """JUnit XML: FAIL is a failure; what could not be decided or compared is an error."""
    failures = sum(check.outcome is Outcome.FAIL for check in verdict.checks)
    errors = sum(check.outcome in (Outcome.INCONCLUSIVE, Outcome.REFUSED) for check in verdict.checks)
    counts = {"tests": str(len(verdict.checks)), "failures": str(failures), "errors": str(errors)}
    root = ET.Element("testsuites", {"name": "hepbench check", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "hepbench check", **counts})
    properties = ET.SubElement(suite, "properties")
    ET.SubElement(properties, "property", {"name": "verdict", "value": line(banner(verdict))})
    for check in verdict.checks:
        case = ET.SubElement(suite, "testcase", {"classname": line(check.of), "name": line(check.what)})
        message = line(check.message, 600)
        if check.outcome is Outcome.PASS:
            ET.SubElement(case, "system-out").text = message
        else:
            tag = "failure" if check.outcome is Outcome.FAIL else "error"
            said = {"type": check.outcome.name.lower(), "message": message}
            ET.SubElement(case, tag, said).text = message
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"

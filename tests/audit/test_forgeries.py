"""Every kind of forgery is found, and the finding names the event."""

from __future__ import annotations

import itertools
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import forging
import pytest
from forging import Edit, Sample, events, everywhere, first, rehash
from honest_runs import scientist_log
from inspect_ai import eval as inspect_eval

from hepbench.reports.audit.audit import Report, audit
from hepbench.reports.opening import LogError
from hepbench.tasks.ao2 import ao2


@pytest.fixture
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scientist_log(tmp_path_factory.getbasetemp())


def found(log: Path, tmp_path: Path, edit: Edit, **more: Any) -> tuple[Report, int | None]:
    target = tmp_path / log.name
    seq = forging.forge(log, target, edit, **more)
    return audit(str(target)), seq


def checks(report: Report, event: int | None) -> set[str]:
    return {finding.check for finding in report.findings if finding.event == event}


def test_the_honest_log_is_clean(honest: Path) -> None:
    report = audit(str(honest))
    assert report.findings == []
    assert report.runs[0].ours
    assert report.runs[0].journal


def test_a_copy_without_its_journal_is_clean_too(honest: Path, tmp_path: Path) -> None:
    report, _ = found(honest, tmp_path, lambda sample: None)
    assert report.findings == []


def belief_edited(sample: Sample) -> int:
    event = first(sample, "BeliefUpdated")
    event["payload"]["after"] = 0.97
    return int(event["seq"])


def belief_edited_and_rehashed(sample: Sample) -> int:
    seq = belief_edited(sample)
    rehash(sample)
    return seq


def prior_edited(sample: Sample) -> int:
    event = first(sample, "HypothesisProposed")
    event["payload"]["belief"] = 0.42
    rehash(sample)
    return int(event["seq"])


def rationale_rewritten(sample: Sample) -> int:
    event = first(sample, "StateChanged")
    event["payload"]["rationale"] = "I knew it all along."
    rehash(sample)
    return int(event["seq"])


def verdict_forged(sample: Sample) -> int:
    event = first(sample, "StateChanged", after="refuted")
    event["payload"]["after"] = "supported"
    rehash(sample)
    return int(event["seq"])


def stance_turned(sample: Sample) -> int:
    event = first(sample, "EvidenceAttached", stance="contradicts", trusted=True)
    event["payload"]["stance"] = "supports"
    rehash(sample)
    return int(event["seq"])


def untrusted_made_trusted(sample: Sample) -> int:
    event = first(sample, "EvidenceAttached", trusted=False)
    event["payload"] |= {"trusted": True, "failed_checks": []}
    rehash(sample)
    return int(event["seq"])


def check_turned(sample: Sample) -> int:
    """The record of the checks alone is made better, so that the evidence would count."""
    event = next(e for e in events(sample) if False in e["payload"].get("checks", {}).values())
    event["payload"]["checks"] = dict.fromkeys(event["payload"]["checks"], True)
    rehash(sample)
    return int(event["seq"])


def energy_changed(sample: Sample) -> int:
    event = first(sample, "LabResultRecorded", tool="compare_structures")
    event["payload"]["answer"]["ranking"][1]["above_lowest_meV_per_atom"] += 40.0
    rehash(sample)
    return int(event["seq"])


def energy_changed_everywhere(sample: Sample) -> int:
    """Record, tool answer, conversation and store changes agree with each other, and not with the world."""
    event = first(sample, "LabResultRecorded", tool="compare_structures")
    row = event["payload"]["answer"]["ranking"][1]
    old = json.dumps(row["above_lowest_meV_per_atom"])
    row["above_lowest_meV_per_atom"] = 777.7
    everywhere(sample, f'above_lowest_meV_per_atom\\": {old}', 'above_lowest_meV_per_atom\\": 777.7')
    sample["events"] = [e for e in sample["events"] if e["event"] != "store"]
    rehash(sample)
    return int(event["seq"])


def event_inserted(sample: Sample) -> int:
    """Evidence that nobody attached, cloned from one for another hypothesis."""
    model = first(sample, "EvidenceAttached", trusted=True)
    at = events(sample).index(model) + 1
    events(sample).insert(at, json.loads(json.dumps(model)))
    rehash(sample)
    return at + 1


def rules_loosened(sample: Sample) -> int:
    event = first(sample, "RunStarted")
    event["payload"]["rules"]["support_threshold"] = 0.55
    rehash(sample)
    return 1


def potential_renamed(sample: Sample) -> int:
    event = first(sample, "RunStarted")
    event["payload"]["about"]["weights_sha256"] = "0" * 64
    sample["metadata"]["about"]["weights_sha256"] = "0" * 64
    rehash(sample)
    return 1


def prediction_changed(sample: Sample) -> int:
    event = first(sample, "PredictionsSubmitted")
    entry = event["payload"]["predictions"][0]
    entry["label"] = next(x for x in sample["metadata"]["prediction"]["labels"] if x != entry["label"])
    rehash(sample)
    return int(event["seq"])


def heldout_measured(sample: Sample) -> int:
    """A sealed compound was measured, by a name that is not its own; record and transcript agree."""
    event = first(sample, "LabResultRecorded", tool="compare_structures")
    compound = event["payload"]["answer"]["compound"]
    other = sample["metadata"]["heldout"][0]["compound"]
    alias = f"O2{other.removesuffix('O2')}"
    sample["events"] = [e for e in sample["events"] if e["event"] != "store"]
    everywhere(sample, f'\\"{compound}\\"', f'\\"{alias}\\"')
    everywhere(sample, f'"{compound}"', f'"{alias}"')
    payload = json.dumps(event["payload"]).replace(f'"{compound}"', f'"{alias}"')
    event["payload"] = json.loads(payload)
    rehash(sample)
    return int(event["seq"])


def simulation_for_the_price_of_a_relaxation(sample: Sample) -> int:
    """Measurements said to be molecular dynamics, ten structures each: the budget cannot have sufficed."""
    measured = [e for e in events(sample) if e["payload"].get("tool") == "compare_structures"]
    for event in measured:
        event["payload"]["tool"] = "run_md"
    rehash(sample)
    budget = sample["metadata"]["about"]["lab_budget"]
    return int(next(e for e in measured if _spent(events(sample), e) > budget)["seq"])


def _spent(record: list[dict[str, Any]], last: dict[str, Any]) -> int:
    """Structures that the record up to an event must have cost."""
    cost: dict[str, int] = {}
    for event in record[: record.index(last) + 1]:
        for pair in event["payload"].get("measured", []):
            cost[json.dumps(pair)] = 10 if event["payload"]["tool"] == "run_md" else 1
    return sum(cost.values())


def unknown_kind(sample: Sample) -> int:
    event = events(sample)[5]
    event["type"] = "HypothesisProved"
    rehash(sample)
    return int(event["seq"])


def no_event(sample: Sample) -> int:
    events(sample)[4] = {"seq": 5, "note": "trust me"}
    return 5


FORGERIES: dict[str, tuple[Edit, set[str]]] = {
    "a belief edited": (belief_edited, {"chain", "gates"}),
    "a belief edited, hashes computed again": (belief_edited_and_rehashed, {"gates"}),
    "a prior edited": (prior_edited, {"transcript"}),
    "a rationale rewritten": (rationale_rewritten, {"transcript"}),
    "a verdict forged": (verdict_forged, {"gates"}),
    "a stance turned": (stance_turned, {"gates"}),
    "untrusted evidence made trusted": (untrusted_made_trusted, {"gates"}),
    "a failed check turned": (check_turned, {"gates", "laboratory"}),
    "a result's energy changed": (energy_changed, {"transcript", "laboratory"}),
    "a result's energy changed everywhere in the log": (energy_changed_everywhere, {"laboratory"}),
    "an event inserted": (event_inserted, {"gates", "transcript"}),
    "the rules loosened": (rules_loosened, {"gates"}),
    "the potential's weights renamed": (potential_renamed, {"provenance"}),
    "a prediction changed": (prediction_changed, {"transcript"}),
    "a held-out measured": (heldout_measured, {"held-outs"}),
    "simulations for less than they cost": (simulation_for_the_price_of_a_relaxation, {"laboratory"}),
    "an unknown event": (unknown_kind, {"gates"}),
    "no event at all": (no_event, {"record"}),
}


@pytest.mark.parametrize("kind", FORGERIES)
def test_the_finding_names_the_event(kind: str, honest: Path, tmp_path: Path) -> None:
    edit, expected = FORGERIES[kind]
    report, seq = found(honest, tmp_path, edit)
    assert expected <= checks(report, seq), [str(f) for f in report.findings]


def dropped(kind: str) -> tuple[Edit, Callable[[Sample], int]]:
    """Drop the last event of a type that others do not build on; what follows it is then out of place."""

    def edit(sample: Sample) -> int:
        event = [e for e in events(sample) if e["type"] == kind][-1]
        at = events(sample).index(event)
        del events(sample)[at]
        rehash(sample)
        return at  # the event before the gap, as its number is now

    return edit, edit


@pytest.mark.parametrize("kind", ["StateChanged", "LabResultRecorded", "PredictionsSubmitted"])
def test_an_event_dropped_and_the_chain_made_sound(kind: str, honest: Path, tmp_path: Path) -> None:
    report, seq = found(honest, tmp_path, dropped(kind)[0])
    assert report.of("chain") == []
    assert "transcript" in checks(report, seq), [str(f) for f in report.findings]


def test_an_event_dropped_from_the_chain(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> int:
        del events(sample)[9]
        return 11  # what stood at place 11 now stands at 10

    report, seq = found(honest, tmp_path, edit)
    assert "chain" in checks(report, seq)


def test_two_events_swapped_and_the_chain_made_sound(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> int:
        record = events(sample)
        at = next(
            i
            for i, (a, b) in enumerate(itertools.pairwise(record))
            if a["type"] == "StateChanged" and b["type"] == "StateChanged"
        )
        record[at], record[at + 1] = record[at + 1], record[at]
        rehash(sample)
        return at + 1

    report, seq = found(honest, tmp_path, edit)
    assert seq is not None
    assert report.of("chain") == []
    assert "transcript" in checks(report, seq) | checks(report, seq + 1)


def test_a_refusal_dropped(tmp_path: Path) -> None:
    log = inspect_eval(ao2(), model="hepbench/hasty", log_dir=str(tmp_path / "logs"), display="none")[0]
    assert audit(log.location).findings == []

    def edit(sample: Sample) -> int:
        at = events(sample).index(first(sample, "OperationRefused"))
        del events(sample)[at]
        rehash(sample)
        return at

    report, seq = found(Path(log.location), tmp_path, edit)
    assert "transcript" in checks(report, seq), [str(f) for f in report.findings]


def test_a_score_changed(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> None:
        sample["scores"]["heldout_accuracy"]["value"]["heldout_accuracy"] = 0.99

    report, _ = found(honest, tmp_path, edit)
    assert any("heldout_accuracy is 0.99" in str(f) for f in report.of("scores"))
    assert any("mean of heldout_accuracy" in str(f) for f in report.of("scores"))


def test_a_mean_changed_in_the_header(honest: Path, tmp_path: Path) -> None:
    def header(stated: dict[str, Any]) -> None:
        score = next(s for s in stated["results"]["scores"] if s["name"] == "heldout_accuracy")
        score["metrics"]["mean"]["value"] = 1.0

    report, _ = found(honest, tmp_path, lambda sample: None, header=header)
    assert [f.check for f in report.findings] == ["scores"]


def test_the_truth_changed_with_the_scores_to_match(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> None:
        row = sample["metadata"]["heldout"][0]
        row["labels"] = ["cotunnite"]

    report, _ = found(honest, tmp_path, edit)
    assert any("truth of" in str(f) for f in report.of("provenance"))


def test_the_task_version_changed(honest: Path, tmp_path: Path) -> None:
    def header(stated: dict[str, Any]) -> None:
        stated["eval"]["task_version"] = "0-A"

    report, _ = found(honest, tmp_path, lambda sample: None, header=header)
    assert report.of("provenance")


def test_a_record_taken_away(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> None:
        del sample["store"]["RegistryStore:run"]

    report, _ = found(honest, tmp_path, edit)
    assert report.of("record")


def test_a_record_cut_short(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> int:
        del events(sample)[-1]
        return len(events(sample))

    report, seq = found(honest, tmp_path, edit)
    assert "record" in checks(report, seq)


def test_the_journal_knows_better(honest: Path, tmp_path: Path) -> None:
    """Whatever was made to agree within the log, the journal was written at the time."""
    journal = honest.with_suffix(".journal")
    (tmp_path / journal.name).mkdir()
    for path in journal.iterdir():
        (tmp_path / journal.name / path.name).write_bytes(path.read_bytes())
    report, seq = found(honest, tmp_path, rationale_rewritten)
    assert {"journal", "transcript"} <= checks(report, seq)


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**400, "\ud800", nested(150), nested(400)],
    ids=lambda value: str(value)[:12],
)
def test_values_that_no_event_holds_are_a_finding_and_no_breakdown(
    value: object, honest: Path, tmp_path: Path
) -> None:
    def edit(sample: Sample) -> int:
        event = first(sample, "LabResultRecorded")
        event["payload"]["answer"]["surprise"] = value
        return int(event["seq"])

    report, seq = found(honest, tmp_path, edit)
    assert "chain" in checks(report, seq)


def test_nesting_beyond_all_bounds_is_one_line(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> None:
        first(sample, "LabResultRecorded")["payload"]["answer"]["surprise"] = "HERE"

    forging.forge(honest, tmp_path / "a.eval", edit)
    deep = "[" * 100_000 + "]" * 100_000
    with zipfile.ZipFile(tmp_path / "a.eval") as whole, zipfile.ZipFile(tmp_path / "b.eval", "w") as copy:
        for name in whole.namelist():
            copy.writestr(name, whole.read(name).replace(b'"HERE"', deep.encode()))
    with pytest.raises(LogError, match="nested too deeply"):
        audit(str(tmp_path / "b.eval"))


def test_another_tool_named(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> int:
        event = first(sample, "LabResultRecorded", tool="element_properties")
        event["payload"]["tool"] = "query_database"
        rehash(sample)
        return int(event["seq"])

    report, seq = found(honest, tmp_path, edit)
    assert any(
        "the call is of 'element_properties'" in f.text for f in report.of("transcript") if f.event == seq
    )


def test_the_conversation_alone_changed(honest: Path, tmp_path: Path) -> None:
    def edit(sample: Sample) -> None:
        message = next(m for m in sample["messages"] if m["role"] == "tool")
        message["content"] = message["content"].replace('"result": "R1"', '"result": "R9"')

    report, _ = found(honest, tmp_path, edit)
    assert any("the conversation has another answer" in str(f) for f in report.of("transcript"))

"""A task's version is N-X. It must move when the task does, and `versions.json` remembers what it stood for.

After a change: raise N (scores are no longer comparable) or X (another parameter) in the family's `version`,
then write the new state with `HEPBENCH_WRITE_VERSIONS=1 pytest tests/tasks/test_versions.py`.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
import yaml

from hepbench.harness.laboratory.reference import ReferenceError as NoReference
from hepbench.tasks import families, fingerprints
from hepbench.tasks.fingerprints import Fingerprint, fingerprint
from hepbench.tasks.parameters import RunParameters

LOCK = Path(__file__).with_name("versions.json")
WRITE = os.environ.get("HEPBENCH_WRITE_VERSIONS") == "1"


def locked() -> dict[str, Fingerprint]:
    known = json.loads(LOCK.read_text(encoding="utf-8")) if LOCK.exists() else {}
    return {name: Fingerprint.model_validate(found) for name, found in known.items()}


def complaint(known: Fingerprint, now: Fingerprint) -> str:
    """Why the version is not right, or nothing."""
    (n_then, x_then), (n_now, x_now) = known.version.split("-"), now.version.split("-")
    if now.comparability != known.comparability and n_now == n_then:
        return f"data, truth, prompts, tools or defaults changed, and N is still {n_now}: raise it"
    if now.interface != known.interface and (n_now, x_now) == (n_then, x_then):
        return f"parameters changed, and the version is still {now.version}: raise X"
    return ""


def remember(name: str, now: Fingerprint) -> None:
    known = {k: v.model_dump() for k, v in locked().items()} | {name: now.model_dump()}
    LOCK.write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")


@pytest.mark.parametrize("name", families.FAMILY_IDS)
def test_the_version_moves_with_the_task(name: str) -> None:
    try:
        now = fingerprint(name)
    except NoReference as e:
        pytest.skip(str(e))
    assert re.fullmatch(r"[1-9]\d*-[A-Z]", now.version)
    known = locked().get(name)
    wrong = complaint(known, now) if known else ""
    if WRITE and not wrong:
        remember(name, now)
        return
    assert not wrong, f"{name}: {wrong}"
    assert now == known, f"{name} moved to {now.version}: HEPBENCH_WRITE_VERSIONS=1 writes it down"


def test_a_change_without_a_new_version_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint("ao2")
    assert complaint(before, fingerprint("ao2")) == ""
    text = fingerprints.prompts()
    for changed in ("hep.md", "planning.md", "prediction.md", "question.md"):
        monkeypatch.setattr(fingerprints, "prompts", lambda c=changed: {**text, c: text[c] + " Think hard."})
        after = fingerprint("ao2")
        assert (
            complaint(before, after) == "data, truth, prompts, tools or defaults changed, "
            f"and N is still {before.version[0]}: raise it"
        )
        assert complaint(before, after.model_copy(update={"version": "99-A"})) == ""
    monkeypatch.undo()
    family = families.load("ao2")
    fewer = family.model_copy(update={"compounds": family.compounds[1:]})
    monkeypatch.setattr(families, "load", lambda _: fewer)
    assert "raise it" in complaint(before, fingerprint("ao2"))
    monkeypatch.undo()
    monkeypatch.setattr(fingerprints, "finish_tool", lambda _: fingerprints.registry_tools()[0])
    assert "raise it" in complaint(before, fingerprint("ao2"))
    monkeypatch.undo()

    class More(RunParameters):
        colour: str = "blue"

    monkeypatch.setattr(fingerprints, "RunParameters", More)
    assert complaint(before, fingerprint("ao2")) != ""


def test_the_metadata_states_what_the_tasks_have() -> None:
    stated = yaml.safe_load((families.DATA.parent / "eval.yaml").read_text(encoding="utf-8"))
    assert [t["name"] for t in stated["tasks"]] == list(families.FAMILY_IDS)
    for task in stated["tasks"]:
        whole = families.load(task["name"])
        family = families.within(whole, families.reference_set(task["name"], families.DEFAULT_POTENTIAL))
        counts = {
            part: len(family.of_part(part)) for part in ("exploration", "interpolation", "extrapolation")
        }
        assert task["dataset_samples"] == 1
        assert task["version"] == family.version
        assert task["compounds"] == counts, task["name"]
        assert task["labels"] == len(family.labels)

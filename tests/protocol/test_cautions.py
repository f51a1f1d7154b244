"""The rules that bite: what they refuse, what they warn of, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest

from hepbench.harness.protocol import wording
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.wording import words

FIRST = "Dioxides whose cation radius exceeds 0.9 take the fluorite structure"


def lab(registry: Registry, compound: str, what: str = "fluorite, 0 GPa") -> str:
    return registry.record_result(
        "relax_structure",
        {"compound": compound},
        {"energy": -1.0},
        {"converged": True},
        measurement=True,
        measured=[(compound, what)],
    )


def start(**rules: Any) -> Registry:
    return Registry.start("run", ProtocolRules(**rules))


def under_test(registry: Registry, **more: Any) -> str:
    name = registry.propose(FIRST, 0.6, "room for eight neighbours", **more).id
    registry.transition(name, "under_test", "go")
    return name


def warned(registry: Registry) -> list[str]:
    return [w.warning for w in registry.state.warnings]


SAME = [
    "Dioxides whose cation radius exceeds 0.90 take fluorite structure.",
    "The dioxides with a cation radius above 0.9 adopt the fluorite phase",
    "dioxides whose cation radii exceed 0.9 take the fluorite structures",
    "Dioxides whose cati\u043en r\u0430dius exceeds 0.9 take the fluorite structure",
    "Dioxides whose cation size is greater 0.9 prefer the fluorite polymorph",
    "Dioxides\u200b whose ca\u0301tion radius exceeds 0.9 take the fluorite structure",
]
DIFFERENT = [
    "Dioxides whose cation radius is below 0.9 take the fluorite structure",
    "Dioxides whose cation radius exceeds 0.95 take the fluorite structure",
    "Dioxides whose cation radius exceeds 0.9 do not take the fluorite structure",
    "Dioxides whose cation radius exceeds 0.9 take the rutile structure",
    "Fluorite dioxides take the structure whose cation radius exceeds 0.9",
]


@pytest.mark.parametrize("statement", SAME)
def test_the_same_claim_in_other_words_is_refused(statement: str) -> None:
    registry = start()
    registry.propose(FIRST, 0.6, "x")
    with pytest.raises(Refusal, match="H1"):
        registry.propose(statement, 0.6, "x")
    assert len(registry.state.hypotheses) == 1


@pytest.mark.parametrize("statement", DIFFERENT)
def test_another_claim_in_nearly_the_same_words_is_taken(statement: str) -> None:
    registry = start()
    registry.propose(FIRST, 0.6, "x")
    assert registry.propose(statement, 0.6, "x").id == "H2"


def test_most_words_shared_is_a_warning() -> None:
    registry = start()
    registry.propose("Large cations of high charge in the oxides take fluorite", 0.6, "x")
    registry.propose("In the oxides fluorite takes large cations of high charge", 0.6, "x")
    assert warned(registry) == ["similar_statement"]


def test_a_moved_limit_is_no_warning() -> None:
    registry = start()
    registry.propose(FIRST, 0.6, "x")
    registry.propose(FIRST.replace("0.9", "0.85"), 0.6, "x")
    assert warned(registry) == []


def test_only_hedges_and_negations_keep_claims_apart() -> None:
    assert words("Not all d0 cations") != words("all d0 cations")
    assert words("mostly rutile") != words("rutile")


def test_the_same_measurement_under_another_result_id_is_refused() -> None:
    registry = start()
    name = under_test(registry)
    first, again = lab(registry, "ThO2"), lab(registry, "ThO2")
    registry.attach(name, [first], "supports", "s", 0.7, "x")
    with pytest.raises(Refusal, match="counts once"):
        registry.attach(name, [again], "supports", "s", 0.8, "x")
    assert registry.state.hypotheses[name].belief == 0.7


def test_a_partly_new_result_is_evidence() -> None:
    registry = start()
    name = under_test(registry)
    registry.attach(name, [lab(registry, "ThO2")], "supports", "s", 0.7, "x")
    more = [lab(registry, "ThO2"), lab(registry, "CeO2")]
    assert registry.attach(name, more, "supports", "s", 0.8, "x").trusted


def test_evidence_from_outside_the_stated_scope_is_refused() -> None:
    registry = start()
    name = under_test(registry, scope=["ThO2", "CeO2"])
    foreign = lab(registry, "TiO2")
    with pytest.raises(Refusal, match="TiO2 is outside"):
        registry.attach(name, [foreign], "supports", "s", 0.9, "x")
    registry.attach(name, [lab(registry, "ThO2"), foreign], "supports", "s", 0.9, "x")
    assert warned(registry) == ["outside_scope"]


@pytest.mark.parametrize("scope", ["ThO2", 7, ["x" * 200], [""], [None], ["A"] * 51])
def test_a_scope_that_is_no_list_of_names_is_refused(scope: Any) -> None:
    with pytest.raises(Refusal, match="scope"):
        start().propose(FIRST, 0.6, "x", [], scope)


def test_a_verdict_on_one_compound_is_a_warning_and_on_two_is_none() -> None:
    registry = start()
    name = under_test(registry)
    registry.attach(name, [lab(registry, "ThO2")], "supports", "s", 0.9, "x")
    registry.transition(name, "supported", "x")
    assert warned(registry) == ["thin_verdict"]
    registry.transition(name, "under_test", "more")
    registry.attach(name, [lab(registry, "CeO2")], "supports", "s", 0.95, "x")
    registry.transition(name, "supported", "x")
    assert warned(registry) == ["thin_verdict"]


def test_one_exception_may_refute() -> None:
    registry = start()
    name = under_test(registry)
    registry.attach(name, [lab(registry, "ThO2")], "contradicts", "s", 0.1, "x")
    registry.transition(name, "refuted", "x")
    assert warned(registry) == []


def test_a_verdict_on_what_was_known_before_is_a_warning() -> None:
    registry = start()
    known = [lab(registry, "ThO2"), lab(registry, "CeO2")]
    name = under_test(registry)
    registry.attach(name, known, "supports", "s", 0.9, "x")
    registry.transition(name, "supported", "x")
    assert warned(registry) == ["postdicted_verdict"]


def test_setting_aside_untested_is_a_warning() -> None:
    registry = start()
    registry.propose(FIRST, 0.6, "x")
    registry.transition("H1", "dormant", "no time")
    assert warned(registry) == ["abandoned"]


@pytest.mark.parametrize("action", ["off", "warn", "refuse"])
def test_each_rule_can_be_off_warn_or_refuse(action: str) -> None:
    registry = start(near_duplicate=action, abandoned=action, similar_statement="off")
    registry.propose(FIRST, 0.6, "x")
    calls = (lambda: registry.propose(SAME[0], 0.6, "x"), lambda: registry.transition("H1", "dormant", "x"))
    for call in calls:
        if action == "refuse":
            with pytest.raises(Refusal):
                call()
        else:
            call()
    assert warned(registry) == (["near_duplicate", "abandoned"] if action == "warn" else [])


def test_what_was_made_of_a_forged_statement_is_not_kept() -> None:
    """Logs of others may hold statements of megabytes, in any number."""
    kept = wording._known_words.cache_info
    assert words("large " * wording.REMEMBERED) == ("large",) * wording.REMEMBERED
    before = kept().currsize
    words("larger ions " * wording.REMEMBERED)
    assert kept().currsize == before
    assert words(FIRST) == words(FIRST)
    assert kept().currsize in (before, before + 1)

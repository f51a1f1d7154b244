"""Random sequences of valid and invalid calls against a simple model of the protocol."""

from __future__ import annotations

import contextlib
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.state import fold

names = st.sampled_from(["H1", "H2", "H3", "H4", "H99", "", "R1", "../etc"])
results = st.lists(st.sampled_from(["R1", "R2", "R3", "R4", "R5", "R99"]), max_size=3)
PLAIN = ["large", "small", "d0", "d3"]
statements = st.sampled_from([*PLAIN, "Large!", "", "<", "x" * 3_000]) | st.text(max_size=20)
beliefs = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.8, 0.9, 1.0, 1.1, -0.1, math.nan, math.inf]) | st.floats()
stances = st.sampled_from(["supports", "contradicts", "inconclusive", "maybe"])
targets = st.sampled_from([*ev.STATES, "open"])

RULES = ProtocolRules(near_duplicate="warn")
"""The model knows statements by their letters alone."""


class RegistryMachine(RuleBasedStateMachine):
    """The model: dictionaries, written without the registry's code."""

    @initialize()
    def start(self) -> None:
        self.registry = Registry.start("m", RULES, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
        self.belief: dict[str, float] = {}
        self.state: dict[str, str] = {}
        self.used: dict[str, set[str]] = {}
        self.for_it: dict[str, set[str]] = {}
        self.texts: set[str] = set()
        self.trust: dict[str, bool] = {}
        self.refused = 0

    def call(self, method: str, *args: Any) -> Any:
        try:
            return getattr(self.registry, method)(*args)
        except Refusal:
            self.refused += 1
            return None

    def expect_new(self, made: Any, statement: str, prior: float, parents_fine: bool) -> None:
        key = "".join(c for c in statement.casefold() if c.isalnum() or c in "<>=≤≥≠±")
        fine = (
            parents_fine
            and any(c.isalnum() for c in key)
            and key not in self.texts
            and len(statement) <= 2_000
            and 0.01 <= prior <= 0.99
        )
        if made is not None:
            assert fine
            self.belief[made.id], self.state[made.id] = prior, "proposed"
            self.used[made.id], self.for_it[made.id] = set(), set()
            self.texts.add(key)
        else:
            # Other text may be refused for what this model does not know: the same words in another order.
            assert not fine or statement not in PLAIN

    @rule(ok=st.booleans(), measured=st.booleans())
    def measure(self, ok: bool, measured: bool) -> None:
        name = self.registry.record_result("relax_structure", {}, {}, {"ok": ok}, measurement=measured)
        self.trust[name] = ok and measured

    @rule(statement=statements, prior=beliefs, parents=st.lists(names, max_size=2))
    def propose(self, statement: str, prior: float, parents: list[str]) -> None:
        made = self.call("propose", statement, prior, "because", parents)
        fine = all(p in self.state for p in parents) and len(set(parents)) == len(parents)
        self.expect_new(made, statement, prior, fine)

    @rule(statement=statements, prior=beliefs, parent=names)
    def refine(self, statement: str, prior: float, parent: str) -> None:
        made = self.call("refine", parent, statement, prior, "because")
        self.expect_new(made, statement, prior, bool(self.used.get(parent)))

    @rule(statement=statements, prior=beliefs, parents=st.lists(names, max_size=3))
    def merge(self, statement: str, prior: float, parents: list[str]) -> None:
        made = self.call("merge", parents, statement, prior, "because")
        fine = (
            len(parents) >= 2 and len(set(parents)) == len(parents) and all(self.used.get(p) for p in parents)
        )
        self.expect_new(made, statement, prior, fine)

    @rule(name=names, which=results, stance=stances, belief=beliefs)
    def attach(self, name: str, which: list[str], stance: str, belief: float) -> None:
        before = self.belief.get(name, 0.0)
        way = {
            "supports": belief >= before,
            "contradicts": belief <= before,
            "inconclusive": belief == before,
        }
        fine = (
            self.state.get(name) == "under_test"
            and len(which) > 0
            and len(set(which)) == len(which)
            and all(r in self.trust and r not in self.used[name] for r in which)
            and 0 <= belief <= 1
            and way.get(stance, False)
        )
        made = self.call("attach", name, which, stance, "seen", belief, "because")
        assert (made is not None) == fine
        if fine:
            self.used[name] |= set(which)
            if all(self.trust[r] for r in which):
                self.belief[name] = belief
                self.for_it[name].add(stance)

    @rule(name=names, to=targets)
    def transition(self, name: str, to: str) -> None:
        p, stances_seen = self.belief.get(name, 0.5), self.for_it.get(name, set())
        moves = {
            "proposed": {"under_test", "dormant"},
            "under_test": {"supported", "refuted", "dormant"},
            "dormant": {"under_test"},
            "supported": {"under_test"},
            "refuted": {"under_test"},
        }
        carried = {
            "supported": p >= 0.8 and "supports" in stances_seen,
            "refuted": p <= 0.2 and "contradicts" in stances_seen,
            "dormant": 0.2 < p < 0.8,
        }
        fine = name in self.state and to in moves[self.state[name]] and carried.get(to, True)
        made = self.call("transition", name, to, "because")
        assert (made is not None) == fine
        if fine:
            self.state[name] = to

    @invariant()
    def registry_agrees(self) -> None:
        hypotheses = self.registry.state.hypotheses
        assert {h.id: h.belief for h in hypotheses.values()} == self.belief
        assert {h.id: h.state for h in hypotheses.values()} == self.state
        assert len(self.registry.state.refusals) == self.refused

    def teardown(self) -> None:
        with contextlib.suppress(AttributeError):  # a run that never started
            assert ev.chain_faults(self.registry.events) == []
            assert fold(self.registry.events) == self.registry.state


RegistryMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestRegistry = RegistryMachine.TestCase


@pytest.mark.parametrize("junk", [None, 7, 0.5, [], {}, ["H1"], {"a": 1}, "x" * 10_000, b"bytes"])
def test_any_json_in_any_argument_is_refused_or_taken_never_raised(junk: Any) -> None:
    registry = Registry.start("j", ProtocolRules())
    registry.propose("one", 0.5, "x")
    registry.transition("H1", "under_test", "go")
    calls = {
        "propose": ["a", 0.5, "x", []],
        "refine": ["H1", "a", 0.5, "x"],
        "merge": [["H1"], "a", 0.5, "x"],
        "attach": ["H1", ["R1"], "supports", "s", 0.6, "x"],
        "transition": ["H1", "dormant", "x"],
        "predict": [[{"compound": "A", "label": "b", "confidence": 1}], "x", ("A",), ("b",)],
    }
    for method, arguments in calls.items():
        for position in range(len(arguments) - (2 if method == "predict" else 0)):
            with contextlib.suppress(Refusal):
                getattr(registry, method)(*[*arguments[:position], junk, *arguments[position + 1 :]])
    assert ev.chain_faults(registry.events) == []

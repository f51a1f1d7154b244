"""A small world for the scripted policies: a made-up laboratory and the real registry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    ModelOutput,
)
from inspect_ai.tool import ToolCall, ToolCallError, ToolInfo

from hepbench.harness.protocol.gates import Refusal
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.scientist.provider import ScriptedPolicy
from hepbench.harness.text import to_text

PROTOTYPES = ("cubic", "chain", "layer", "tunnel", "open", "dense")
SYMBOLS = "Si Ge Ti V Cr Mn Fe Co Ni Zr Nb Mo Tc Ru Rh Pd Sn Hf Ta W Re Os Ir Pt Pb Te Ce Pr Tb Th Pa U Np Pu"
CATIONS = SYMBOLS.split()
HELD_OUT = ("GeO2", "CoO2", "RuO2", "HfO2", "OsO2", "PbO2", "ThO2", "PaO2", "UO2", "NpO2", "PuO2")

LAB_TOOLS = ("list_prototypes", "element_properties", "compare_structures", "relax_structure")
REGISTRY_TOOLS = (
    "propose_hypothesis",
    "refine_hypothesis",
    "merge_hypotheses",
    "attach_evidence",
    "transition_hypothesis",
    "list_hypotheses",
    "get_hypothesis",
)
RADII = {e: round(0.40 + 0.6 * ((i * 17) % 34) / 34, 3) for i, e in enumerate(CATIONS)}


def energies(compound: str) -> dict[str, float]:
    """A law over the radius alone: small is open, middle is chain, large is cubic; others lie above."""
    radius = RADII[compound[:-2]]
    best = "open" if radius < 0.58 else "chain" if radius < 0.78 else "cubic"
    return {p: (0.0 if p == best else 20.0 + 15.0 * i) for i, p in enumerate(PROTOTYPES)}


def element_row(element: str) -> dict[str, Any]:
    number = CATIONS.index(element) if element in CATIONS else 50
    charge = -2 if element == "O" else 4
    return {
        "element": element,
        "group": 4 + number % 9,
        "period": 3 + number // 9,
        "electronegativity_pauling": 3.44 if element == "O" else round(1.3 + (number * 7 % 11) / 10, 2),
        "oxidation_states": [charge],
        "common_oxidation_states": [charge],
        "shannon_radii_A": [
            {"charge": charge, "coordination": 6, "spin": "", "radius": RADII.get(element, 1.40)}
        ],
        "d_electrons": {"4": number % 9},
        "f_electrons": {"4": 0},
    }


@dataclass
class World:
    """One run: the laboratory and the registry, answering call by call."""

    law: Callable[[str], dict[str, float]] = energies
    offered: tuple[str, ...] = tuple(f"{e}O2" for e in CATIONS if f"{e}O2" not in HELD_OUT)
    held_out: tuple[str, ...] = HELD_OUT
    labels: tuple[str, ...] = PROTOTYPES
    row: Callable[[str], dict[str, Any]] = element_row
    family: str = "AO2 dioxides"
    budget: int = 80
    untrusted: frozenset[str] = frozenset()
    tools: tuple[str, ...] = (*LAB_TOOLS, *REGISTRY_TOOLS, "finish_research")
    known_elements: frozenset[str] | None = None
    registry: Registry = field(default_factory=lambda: Registry.start("test", ProtocolRules()))
    seen: set[tuple[str, str]] = field(default_factory=set)
    predictions: dict[str, dict[str, Any]] = field(default_factory=dict)
    rule: str = ""
    finished: bool = False
    reminded: bool = False

    def answer(self, name: str, arguments: dict[str, Any]) -> str:
        operation: Callable[..., str] = getattr(self, f"_{name}")
        return operation(**arguments)

    def _propose_hypothesis(self, **arguments: Any) -> str:
        return self._born(self.registry.propose(**arguments))

    def _refine_hypothesis(self, **arguments: Any) -> str:
        return self._born(self.registry.refine(**arguments))

    def _merge_hypotheses(self, **arguments: Any) -> str:
        return self._born(self.registry.merge(**arguments))

    def _born(self, h: Any) -> str:
        return to_text({"hypothesis": h.id, "state": h.state, "belief": h.belief, "mechanism": h.mechanism})

    def _attach_evidence(self, **arguments: Any) -> str:
        before = self.registry.state.hypotheses[arguments["hypothesis"]].belief
        evidence = self.registry.attach(**arguments)
        after = self.registry.state.hypotheses[arguments["hypothesis"]]
        return to_text(
            {
                "hypothesis": after.id,
                "stance": evidence.stance,
                "trusted": evidence.trusted,
                "belief_before": before,
                "belief": after.belief,
                "state": after.state,
            }
        )

    def _transition_hypothesis(self, **arguments: Any) -> str:
        moved = self.registry.transition(**arguments)
        return to_text({"hypothesis": moved.id, "to": moved.state, "belief": moved.belief})

    def _list_hypotheses(self) -> str:
        rows = [
            {"hypothesis": h.id, "statement": h.statement, "belief": h.belief, "state": h.state}
            for h in self.registry.state.hypotheses.values()
        ]
        return to_text({"hypotheses": rows})

    def _list_prototypes(self) -> str:
        return to_text(
            {
                "result": self._result("list_prototypes"),
                "family": self.family,
                "label_name": "polymorph",
                "prototypes": [{"name": f"{p}-start", "label": p} for p in self.labels],
                "exploration_compounds": list(self.offered),
                "budget_left": self.budget,
            }
        )

    def _element_properties(self, elements: list[str]) -> str:
        if len(elements) > 40:
            raise Refusal("laboratory", "At most 40 elements in a call.", "…")
        unknown = [e for e in elements if self.known_elements is not None and e not in self.known_elements]
        if unknown:
            raise Refusal("laboratory", f"No element has the symbol {', '.join(unknown)}.", "elements=['Ti']")
        return to_text(
            {
                "result": self._result("element_properties"),
                "elements": [self.row(e) for e in elements],
            }
        )

    def _compare_structures(self, compound: str, prototypes: list[str], pressure_GPa: float = 0.0) -> str:  # noqa: N803
        if compound in self.held_out:
            raise Refusal("laboratory", f"{compound} is sealed.", "…")
        fresh = {(compound, p) for p in prototypes} - self.seen
        if len(fresh) > self.budget:
            raise Refusal("laboratory", f"The budget of {self.budget} does not cover {len(fresh)}.", "…")
        self.budget -= len(fresh)
        self.seen |= fresh
        law = {p: self.law(compound)[p.removesuffix("-start")] for p in prototypes}
        lowest = min(law, key=lambda p: law[p])
        rows = sorted((round(e - law[lowest], 3), p.removesuffix("-start")) for p, e in law.items())
        trusted = compound not in self.untrusted
        return to_text(
            {
                "result": self._result("compare_structures", compound, prototypes, trusted=trusted),
                "compound": compound,
                "lowest": rows[0][1],
                "ranking": [{"phase": p, "above_lowest_meV_per_atom": e} for e, p in rows],
                "changed": [],
                "failed": [],
                "trusted": trusted,
                "budget_left": self.budget,
            }
        )

    def _result(
        self, tool: str, compound: str = "", prototypes: Sequence[str] = (), *, trusted: bool = True
    ) -> str:
        checks = {"converged": trusted} if compound else {}
        measured = [(compound, p) for p in prototypes]
        return self.registry.record_result(
            tool, {}, {}, checks, measurement=bool(compound), measured=measured
        )

    def _finish_research(self, summary: str) -> str:
        still = [h.id for h in self.registry.state.hypotheses.values() if h.is_open]
        if still and not self.reminded:
            self.reminded = True
            return (
                f"Not yet: Still open: {', '.join(still)}. Judge each one, then call finish_research again."
            )
        self.finished = True
        return "The research is over. The prediction phase follows."

    def _submit_predictions(self, predictions: list[dict[str, Any]], rule: str) -> str:
        missing = self.registry.predict(predictions, rule, self.held_out, self.labels)
        self.predictions |= {p["compound"]: p for p in predictions}
        self.rule = rule
        return to_text({"accepted": len(predictions), "missing": missing})


def infos(names: tuple[str, ...]) -> list[ToolInfo]:
    return [ToolInfo(name=n, description="") for n in names]


def step(policy: ScriptedPolicy, messages: list[ChatMessage], tools: tuple[str, ...]) -> ModelOutput:
    output = asyncio.run(policy.generate(messages, infos(tools), "auto", GenerateConfig()))
    assert isinstance(output, ModelOutput)
    return output


@dataclass
class Run:
    """What a run left behind."""

    world: World
    messages: list[ChatMessage]
    turns: int = 0
    offered: list[tuple[int, tuple[str, ...]]] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        held_out = self.world.held_out
        right = [self.world.predictions[c]["label"] == best(self.world.law, c) for c in held_out]
        return sum(right) / len(right)

    @property
    def refusals(self) -> list[str]:
        tools = [m for m in self.messages if isinstance(m, ChatMessageTool)]
        return [m.error.message for m in tools if m.error is not None]


def best(law: Callable[[str], dict[str, float]], compound: str) -> str:
    energy = law(compound)
    return min(energy, key=lambda p: energy[p])


def answered(world: World, call: ToolCall) -> ChatMessageTool:
    try:
        return ChatMessageTool(content=world.answer(call.function, call.arguments), tool_call_id=call.id)
    except Refusal as refusal:
        error = ToolCallError("unknown", str(refusal))
        return ChatMessageTool(content="", tool_call_id=call.id, error=error)


def one_turn(run: Run, policy: ScriptedPolicy, tools: tuple[str, ...]) -> bool:
    """One generation with its tool answers; false when it called nothing."""
    run.offered.append((len(run.messages), tools))
    message = step(policy, run.messages, tools).message
    run.messages.append(message)
    run.turns += 1
    run.messages += [answered(run.world, call) for call in message.tool_calls or []]
    return bool(message.tool_calls)


def play(name: str, world: World, turn_limit: int = 150, warn_at: int | None = None) -> Run:
    """A whole run as the harness leads it: research, then predictions."""
    policy = ScriptedPolicy(name)
    run = Run(world, [ChatMessageSystem(content="You are a scientist."), ChatMessageUser(content="Which?")])
    idle = 0
    while run.turns < turn_limit and not world.finished and idle < 3:
        idle = 0 if one_turn(run, policy, world.tools) else idle + 1
        if idle:
            run.messages.append(ChatMessageUser(content="You answered without calling a tool. Go on."))
        if turn_limit - run.turns == warn_at:
            run.messages.append(ChatMessageUser(content=f"{warn_at} turns are left for the research."))
    asked = f"Held-out compounds: {', '.join(world.held_out)}\n\nLabels: {', '.join(world.labels)}"
    run.messages.append(
        ChatMessageUser(content=f"The laboratory is closed.\n\n{asked}\n\nCall submit_predictions.")
    )
    for _ in range(4):
        if len(world.predictions) < len(world.held_out):
            one_turn(run, policy, ("submit_predictions", "list_hypotheses", "get_hypothesis"))
    return run


@pytest.fixture
def new_world() -> type[World]:
    return World


@pytest.fixture(scope="session")
def usual() -> Run:
    """A whole run of the scientist, shared: look, do not touch."""
    return play("scientist", World())


@pytest.fixture
def play_run() -> Callable[..., Run]:
    return play

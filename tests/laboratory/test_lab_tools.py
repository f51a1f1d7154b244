"""The laboratory's tools as an agent meets them: answers, refusals, the record, and real relaxations."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import copy_context
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
    execute_tools,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspect_ai.tool import ToolCall, ToolChoice, ToolDef, ToolError, ToolInfo
from inspect_ai.util import Store
from inspect_ai.util._store import init_subtask_store

from hepbench.harness.laboratory import potentials
from hepbench.harness.laboratory.family import Family
from hepbench.harness.laboratory.laboratory import Laboratory, LabSettings
from hepbench.harness.laboratory.records import Provenance, Relaxation
from hepbench.harness.laboratory.relaxation import RelaxationMaker
from hepbench.harness.laboratory.tools import TOOL_NAMES, laboratory_tools
from hepbench.harness.laboratory.workers import Job, Outcome, WorkerPool, run_live
from hepbench.harness.protocol import events as ev
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.store import RegistryStore, start_registry

MakeLab = Callable[..., Laboratory]
Call = tuple[str, dict[str, Any]]
CHGNET = "chgnet-0.3.0"
LENNARD_JONES = "ase:ase.calculators.lj:LennardJones"


class Bench:
    """The tools of one laboratory over a registry of their own, called directly."""

    def __init__(self, lab: Laboratory) -> None:
        self.lab = lab
        self.tools = {ToolDef(tool).name: tool for tool in laboratory_tools(lab)}
        self._context = copy_context()
        self._context.run(init_subtask_store, Store())
        self.registry: Registry = self._context.run(start_registry, "run", ProtocolRules(), {})

    def __call__(self, name: str, **arguments: Any) -> dict[str, Any]:
        async def call() -> Any:
            return await self.tools[name](**arguments)

        answer: dict[str, Any] = json.loads(self._context.run(anyio.run, call))
        return answer

    def refused(self, name: str, **arguments: Any) -> str:
        before = len(self.registry.state.refusals)
        with pytest.raises(ToolError) as caught:
            self(name, **arguments)
        line = str(caught.value)
        assert line.startswith("Refused (laboratory): ")
        assert " A valid call: " in line
        assert "\n" not in line
        assert len(line) < 700
        refusals = self.registry.state.refusals[before:]
        assert [(r.operation, r.gate) for r in refusals] == [(name, "laboratory")]
        assert refusals[0].reason in line
        return line


@pytest.fixture
def bench(make_lab: MakeLab) -> Bench:
    return Bench(make_lab(budget=30))


def test_list_prototypes(bench: Bench, family: Family) -> None:
    answer = bench("list_prototypes")
    assert list(answer) == [
        "result",
        "family",
        "label_name",
        "potential",
        "prototypes",
        "exploration_compounds",
        "budget_left",
    ]
    assert answer["result"] == "R1"
    assert len(answer["prototypes"]) == 12
    assert answer["prototypes"][0]["space_group"] == 136
    assert "UO2" not in answer["exploration_compounds"]
    assert not bench.registry.state.results["R1"].measurement


def test_element_properties(bench: Bench) -> None:
    answer = bench("element_properties", elements=["Ti", "O"])
    assert list(answer) == ["result", "units", "elements", "provenance"]
    assert [row["element"] for row in answer["elements"]] == ["Ti", "O"]
    assert "eV" in answer["units"]["ionization_energies_eV"]
    assert answer["provenance"]["table"].startswith("pymatgen-core ")
    assert not bench.registry.state.results["R1"].measurement
    assert bench.lab.budget_left == 30


def test_relax_structure(bench: Bench) -> None:
    answer = bench("relax_structure", compound="TiO2", prototype="anatase")
    assert list(answer) == [
        "result",
        "compound",
        "prototype",
        "pressure_GPa",
        "energy_eV_per_atom",
        "enthalpy_eV_per_atom",
        "volume_A3_per_atom",
        "space_group",
        "phase",
        "still_the_prototype",
        "trusted",
        "checks",
        "provenance",
        "budget_left",
    ]
    assert answer["trusted"]
    assert answer["provenance"]["source"] == "reference set"
    assert answer["budget_left"] == 29
    assert bench.registry.state.results["R1"].faults == ()


def test_compare_structures(bench: Bench) -> None:
    answer = bench("compare_structures", compound="TiO₂", prototypes="rutile, anatase, CaCl2-type")
    assert list(answer) == [
        "result",
        "compound",
        "pressure_GPa",
        "lowest",
        "ranking",
        "changed",
        "failed",
        "trusted",
        "checks",
        "provenance",
        "budget_left",
    ]
    assert answer["compound"] == "TiO2"
    assert answer["lowest"] == "anatase"
    assert answer["changed"] == [{"prototype": "CaCl2-type", "became": "rutile"}]
    assert bench.registry.state.results["R1"].faults == ()


def test_query_database(bench: Bench, family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = bench("query_database", compound="TiO2")
    assert list(answer) == ["result", "compound", "database", "structures"]
    assert [s["phase"] for s in answer["structures"]] == ["rutile", "anatase", "brookite"]
    assert not bench.registry.state.results["R1"].measurement
    assert bench.lab.budget_left == 30
    for sealed in family.of_part("interpolation", "extrapolation"):
        assert "sealed" in bench.refused("query_database", compound=sealed.formula)
    monkeypatch.setattr(bench.lab.database, "path", Path("/nowhere/known.db"))
    assert "there is no database" in bench.refused("query_database", compound="TiO2")


def test_without_a_database_its_tool_is_not_offered(family: Family, tio2: Any) -> None:
    assert "query_database" not in Bench(Laboratory(family, Standing(CHGNET, "0" * 64, tio2))).tools


def test_run_md(bench: Bench) -> None:
    answer = bench("run_md", compound="TiO2", prototype="rutile", temperature_K="1000 K")
    assert answer["survived"] is answer["trusted"] is True
    assert answer["phase_at_end"] == "rutile"
    assert answer["provenance"]["source"] == "live"
    assert answer["budget_left"] == 20
    recorded = bench.registry.events[-1].body
    assert isinstance(recorded, ev.LabResultRecorded)
    assert recorded.measurement
    assert [(m.subject, m.what) for m in recorded.measured] == [
        ("TiO2", "rutile, MD at 1000 K, 300 steps, seed 0")
    ]
    assert "sealed" in bench.refused("run_md", compound="UO2", prototype="rutile", temperature_K=math.nan)


def test_what_is_recorded_is_what_was_answered(bench: Bench) -> None:
    answer = bench("compare_structures", compound="TiO2", prototypes=["rutile", "anatase"])
    body = bench.registry.events[-1].body
    assert isinstance(body, ev.LabResultRecorded)
    assert body.answer == answer
    assert body.arguments == {"compound": "TiO2", "prototypes": ["rutile", "anatase"], "pressure_GPa": 0.0}
    assert body.checks == answer["checks"]


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("relax_structure", {"compound": "tio2", "prototype": "rutile"}, "did you mean TiO2"),
        ("relax_structure", {"compound": "", "prototype": "rutile"}, "no compound ''"),
        ("relax_structure", {"compound": "x" * 100_000, "prototype": "rutile"}, "100000 characters"),
        ("relax_structure", {"compound": "Ti\ud800O2", "prototype": "rutile"}, "no compound"),
        ("relax_structure", {"compound": "TiO2", "prototype": "rutil"}, "did you mean rutile"),
        (
            "relax_structure",
            {"compound": "TiO2", "prototype": "rutile", "pressure_GPa": math.nan},
            "-50 to 50",
        ),
        (
            "relax_structure",
            {"compound": "TiO2", "prototype": "rutile", "pressure_GPa": 10**400},
            "-50 to 50",
        ),
        ("compare_structures", {"compound": "TiO2", "prototypes": []}, "1 to 12, not 0"),
        ("compare_structures", {"compound": "TiO2", "prototypes": ["rutile"]}, "two or more"),
        (
            "compare_structures",
            {"compound": "TiO2", "prototypes": ["rutile", "Rutile"]},
            "rutile is named twice",
        ),
        ("compare_structures", {"compound": "TiO2", "prototypes": ["rutile"] * 13}, "1 to 12, not 13"),
        ("compare_structures", {"compound": "TiO2", "prototypes": "[" * 100}, "a list of names"),
        ("compare_structures", {"compound": "TiO2", "prototypes": "[1, 2]"}, "a list of names"),
        ("element_properties", {"elements": []}, "1 to 40"),
        ("element_properties", {"elements": ["Ti", "Ti"]}, "Ti is named twice"),
        ("element_properties", {"elements": ["Ti"] * 41}, "1 to 40, not 41"),
        ("element_properties", {"elements": ["Titanium", "Xy"]}, "did you mean 'Ti'"),
    ],
)
def test_refusals_are_one_line_and_on_record(bench: Bench, name: str, arguments: Any, says: str) -> None:
    assert says in bench.refused(name, **arguments)
    assert bench.lab.budget_left == 30
    assert ev.chain_faults(bench.registry.events) == []


def test_examples_in_refusals_are_valid_calls(bench: Bench) -> None:
    for name in TOOL_NAMES:
        call = bench.lab.example(name)
        assert eval(call, {name: lambda **arguments: bench(name, **arguments)})["result"]  # noqa: B023, S307


def test_a_sealed_compound_is_refused_before_anything_else(bench: Bench) -> None:
    lines = {
        bench.refused("relax_structure", compound="UO2", prototype=prototype, pressure_GPa=pressure)
        for prototype in ("rutile", "fluorite", "nonsense")
        for pressure in (0.0, 10.0, math.nan)
    }
    assert len(lines) == 1
    assert "sealed" in lines.pop()
    assert "sealed" in bench.refused("compare_structures", compound="UO2", prototypes=["fluorite", "rutile"])
    assert bench.lab.budget_left == 30


def test_no_near_miss_names_a_sealed_compound(bench: Bench, family: Family) -> None:
    for sealed in family.of_part("interpolation", "extrapolation"):
        line = bench.refused("relax_structure", compound=sealed.formula.lower(), prototype="rutile")
        assert sealed.formula not in line


def test_the_budget(make_lab: MakeLab) -> None:
    bench = Bench(make_lab(budget=3))
    bench("compare_structures", compound="TiO2", prototypes=["rutile", "anatase"])
    line = bench.refused("compare_structures", compound="TiO2", prototypes=["rutile", "brookite", "fluorite"])
    assert "budget" in line
    assert "1 structures are left" in line
    assert bench("relax_structure", compound="TiO2", prototype="rutile")["budget_left"] == 1


def test_a_closed_laboratory_answers_nothing(bench: Bench) -> None:
    bench.lab.close()
    for name, arguments in EVERY_TOOL:
        assert "closed" in bench.refused(name, **arguments)


def test_a_call_after_the_end(bench: Bench) -> None:
    bench.registry.end("over")
    events = list(bench.registry.events)
    for name, arguments in EVERY_TOOL:
        with pytest.raises(ToolError, match="closed"):
            bench(name, **arguments)
    assert bench.registry.events == events


EVERY_TOOL: list[Call] = [
    ("list_prototypes", {}),
    ("element_properties", {"elements": ["Ti"]}),
    ("query_database", {"compound": "TiO2"}),
    ("relax_structure", {"compound": "TiO2", "prototype": "rutile"}),
    ("compare_structures", {"compound": "TiO2", "prototypes": ["rutile", "anatase"]}),
    ("run_md", {"compound": "TiO2", "prototype": "rutile", "temperature_K": 1000}),
]


def test_a_failed_relaxation_is_refused_and_paid(bench: Bench, worker: Any) -> None:
    worker.ends.update({"rutile": "exploded", "anatase": "slow"})
    line = bench.refused("relax_structure", compound="TiO2", prototype="rutile", pressure_GPa=10)
    assert "the relaxation exploded" in line
    assert "29 structures are left" in line
    line = bench.refused("relax_structure", compound="TiO2", prototype="anatase", pressure_GPa=10)
    assert "stopped after 120 s" in line
    answer = bench("compare_structures", compound="TiO2", prototypes=["rutile", "fluorite"], pressure_GPa=10)
    assert answer["failed"] == [{"prototype": "rutile", "reason": "the relaxation exploded"}]
    assert answer["trusted"] is False


def test_what_breaks_inside_becomes_one_line(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise KeyError("a\nbug")

    monkeypatch.setattr(bench.lab, "measure", broken)
    assert "KeyError" in bench.refused("relax_structure", compound="TiO2", prototype="rutile")


def test_a_missing_potential_says_what_to_install(
    family: Family, tio2: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "chgnet" else find(name))
    bench = Bench(Laboratory(family, Standing(CHGNET, "0" * 64, tio2)))
    line = bench.refused("relax_structure", compound="TiO2", prototype="rutile", pressure_GPa=10)
    assert "pip install 'hepbench[chgnet]'" in line
    assert bench.lab.budget_left == 160
    assert bench("relax_structure", compound="TiO2", prototype="rutile")["trusted"]


def test_schemas_read_well(bench: Bench) -> None:
    definitions = {name: ToolDef(tool) for name, tool in bench.tools.items()}
    assert tuple(definitions) == TOOL_NAMES
    for name, definition in definitions.items():
        assert len(definition.description) > 100, name
        assert not definition.parallel
        for parameter in definition.parameters.properties.values():
            assert parameter.description
    assert definitions["relax_structure"].parameters.required == ["compound", "prototype"]
    assert "GPa" in (definitions["relax_structure"].parameters.properties["pressure_GPa"].description or "")


# Random arguments

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("x" * 100_000),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
compounds = st.sampled_from(["TiO2", "UO2", "TiO₂", " TiO2", "tio2", "ThO2", "SO2", ""]) | st.text(
    max_size=12
)
names = st.sampled_from(["rutile", "anatase", "brookite", "fluorite", "Cotunnite", "none"]) | st.text(
    max_size=12
)
name_lists = st.lists(names, max_size=5) | st.text(max_size=20) | names | anything
pressures = st.sampled_from([0, 0.0, -0.0, 10, 1e-12, 51, 1e300, 10**400, "5 GPa"]) | st.floats() | anything
symbols = st.lists(st.sampled_from(["Ti", "O", "Ce", "Xx"]) | st.text(max_size=3), max_size=45)
calls = st.one_of(
    st.just(("list_prototypes", {})),
    st.fixed_dictionaries({"compound": compounds}).map(lambda a: ("query_database", a)),
    st.fixed_dictionaries({"elements": symbols | anything}).map(lambda a: ("element_properties", a)),
    st.fixed_dictionaries({"compound": compounds, "prototype": names, "pressure_GPa": pressures}).map(
        lambda a: ("relax_structure", a)
    ),
    st.fixed_dictionaries({"compound": compounds, "prototypes": name_lists, "pressure_GPa": pressures}).map(
        lambda a: ("compare_structures", a)
    ),
    st.fixed_dictionaries(
        {"compound": compounds, "prototype": names, "temperature_K": pressures, "steps": pressures}
    ).map(lambda a: ("run_md", a)),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
    ],
)
@given(sequence=st.lists(calls, max_size=8))
def test_random_calls_answer_or_refuse(make_lab: MakeLab, sequence: list[Call]) -> None:
    bench = Bench(make_lab(budget=6))
    results: list[str] = []
    lines: list[str] = []
    for name, arguments in sequence:
        left = bench.lab.budget_left
        try:
            results.append(bench(name, **arguments)["result"])
        except ToolError as error:
            lines.append(str(error))
        assert 0 <= bench.lab.budget_left <= left
    assert results == [f"R{i}" for i in range(1, len(results) + 1)]
    assert all(line.startswith("Refused (laboratory): ") and "\n" not in line for line in lines)
    state = bench.registry.state
    assert (len(state.results), len(state.refusals)) == (len(results), len(lines))
    assert ev.chain_faults(bench.registry.events) == []


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=calls)
def test_random_calls_through_inspect_never_raise(make_lab: MakeLab, call: Call) -> None:
    lab = make_lab()

    async def run() -> ChatMessage:
        start_registry("run", ProtocolRules(), {})
        message = ChatMessageAssistant(
            content="", tool_calls=[ToolCall(id="1", function=call[0], arguments=call[1])]
        )
        return (await execute_tools([message], laboratory_tools(lab))).messages[0]

    context = copy_context()
    context.run(init_subtask_store, Store())
    answer = context.run(anyio.run, run)
    assert isinstance(answer, ChatMessageTool)
    assert answer.text or answer.error


def test_the_tools_load_neither_torch_nor_pymatgen() -> None:
    program = (
        "import sys; import hepbench.harness.laboratory.tools\n"
        "assert not {'torch', 'pymatgen', 'ase'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


# Real relaxations, in real samples


class Standing:
    """A reference set of a potential, in memory."""

    def __init__(self, potential: str, weights: str, records: Any = None) -> None:
        self.provenance = Provenance(
            potential=potential,
            weights_sha256=weights,
            settings=RelaxationMaker().settings(),
            versions={},
            dtype="float64",
            device="cpu",
        )
        self._records = records or {}

    def relaxation(self, compound: str, prototype: str) -> Relaxation | None:
        found: Relaxation | None = self._records.get((compound, prototype))
        return found


def standing(potential: str) -> Standing:
    return Standing(potential, potentials.potential(potential).weights_sha256())


@solver
def opened(lab: Laboratory) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        start_registry("run", ProtocolRules(), {})
        state.tools = laboratory_tools(lab)
        return state

    return solve


def run_sample(lab: Laboratory, tmp_path: Path, *calls: Call, **limits: Any) -> EvalLog:
    """A real eval whose model makes these calls, one a turn."""

    def answer(
        messages: list[ChatMessage], tools: list[ToolInfo], choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        done = sum(isinstance(m, ChatMessageAssistant) for m in messages)
        output = (
            ModelOutput.for_tool_call("scripted", *calls[done])
            if done < len(calls)
            else ModelOutput.from_content("scripted", "done")
        )
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    task = Task(dataset=[Sample(input="Go on.")], setup=opened(lab), solver=generate(), name="lab", **limits)
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    return inspect_eval(task, model=model, log_dir=str(tmp_path), display="none")[0]


def sample_of(log: EvalLog) -> EvalSample:
    assert log.status == "success", log.error
    assert log.samples
    sample = log.samples[0]
    assert ev.chain_faults(sample.store_as(RegistryStore).run.events) == []
    return sample


def tool_messages(sample: EvalSample) -> list[ChatMessageTool]:
    return [m for m in sample.messages if isinstance(m, ChatMessageTool)]


SQUEEZED: Call = (
    "compare_structures",
    {"compound": "TiO2", "prototypes": ["rutile", "fluorite"], "pressure_GPa": 20.0},
)


def test_chgnet_relaxes_under_pressure_in_a_sample(family: Family, tmp_path: Path) -> None:
    pytest.importorskip("chgnet")
    had_torch = "torch" in sys.modules
    lab = Laboratory(family, standing(CHGNET))
    sample = sample_of(run_sample(lab, tmp_path, SQUEEZED, SQUEEZED))
    first, again = (json.loads(m.text) for m in tool_messages(sample))
    assert first["lowest"] == "rutile"
    assert first["ranking"][1]["phase"] == "fluorite"
    assert first["ranking"][1]["volume_A3_per_atom"] < first["ranking"][0]["volume_A3_per_atom"]
    assert first["trusted"], first["checks"]
    assert first["provenance"]["source"] == "live"
    assert again["ranking"] == first["ranking"]
    assert again["budget_left"] == first["budget_left"] == 158
    took = [e.completed - e.timestamp for e in sample.events if e.event == "tool" and e.completed]
    assert took[1].total_seconds() < 0.5
    assert ("torch" in sys.modules) == had_torch


SLOW_POTENTIAL = """
import os, pathlib, time
from ase.calculators.lj import LennardJones

class Slow(LennardJones):
    def calculate(self, *args, **kwargs):
        pathlib.Path(os.environ["SLOW_POTENTIAL_PID"]).write_text(str(os.getpid()))
        time.sleep(60)
"""


@pytest.fixture
def pid_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a worker with the slow potential writes its process id."""
    (tmp_path / "slow_potential.py").write_text(SLOW_POTENTIAL)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLOW_POTENTIAL_PID", str(tmp_path / "pid"))
    return tmp_path / "pid"


@pytest.fixture
def slow_lab(family: Family, pid_file: Path) -> Iterator[Callable[[float], Laboratory]]:
    """Builds a laboratory whose live relaxations take a minute; the argument is the time limit in s."""
    pools: list[WorkerPool] = []

    def build(time_limit: float) -> Laboratory:
        pools.append(WorkerPool(1, time_limit))
        warm_up = Job(LENNARD_JONES, RelaxationMaker(), family.compounds[0], family.prototypes[0])
        with contextlib.suppress(FutureTimeout):  # on a busy machine the imports take their time
            pools[-1].submit(warm_up).result()

        async def run(job: Job) -> Outcome:
            return await run_live(pools[-1], job)

        return Laboratory(family, standing("ase:slow_potential:Slow"), LabSettings(), run)

    yield build
    for pool in pools:
        pool.close()


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def pid_of(pid_file: Path) -> int:
    wait_for(lambda: pid_file.exists() and pid_file.read_text())
    return int(pid_file.read_text())


def is_running(pid: int) -> bool:
    status = Path(f"/proc/{pid}/status")
    return status.exists() and "zombie" not in status.read_text()


ONE_SLOW: Call = ("relax_structure", {"compound": "TiO2", "prototype": "rutile", "pressure_GPa": 5.0})


def test_a_limit_of_the_sample_kills_the_worker(
    slow_lab: Callable[[float], Laboratory], pid_file: Path, tmp_path: Path
) -> None:
    lab = slow_lab(300.0)
    log = run_sample(lab, tmp_path, ONE_SLOW, time_limit=10)
    sample = sample_of(log)
    assert sample.limit is not None
    assert sample.limit.type == "time"
    pid = pid_of(pid_file)
    wait_for(lambda: not is_running(pid), 10)


def test_a_relaxation_out_of_time_is_one_line(
    slow_lab: Callable[[float], Laboratory], tmp_path: Path
) -> None:
    listing: Call = ("list_prototypes", {})
    sample = sample_of(run_sample(slow_lab(3.0), tmp_path, ONE_SLOW, listing))
    lost, after = tool_messages(sample)
    assert lost.error is not None
    assert "stopped after 3 s" in lost.error.message
    assert json.loads(after.text)["budget_left"] == 159


def test_a_killed_worker_is_one_line_and_the_next_call_works(
    slow_lab: Callable[[float], Laboratory], pid_file: Path
) -> None:
    bench = Bench(slow_lab(300.0))

    async def killer() -> None:
        pid = await anyio.to_thread.run_sync(pid_of, pid_file)
        os.kill(pid, signal.SIGKILL)

    async def call() -> str:
        async with anyio.create_task_group() as group:
            group.start_soon(killer)
            try:
                await bench.tools["relax_structure"](**ONE_SLOW[1])
            except ToolError as error:
                return str(error)
        return "no error"

    line = bench._context.run(anyio.run, call)
    assert "the worker process died" in line
    assert "\n" not in line
    assert bench("list_prototypes")["budget_left"] == 159

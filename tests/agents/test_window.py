"""What a model with a small context is shown, and what a long run costs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from inspect_ai.log import EvalLog
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Model,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall

from hepbench.harness.agents.window import Window, split
from hepbench.harness.protocol.store import RegistryStore
from hepbench.harness.steps import ANSWER_PHASE


def conversation(rounds: int) -> list[ChatMessage]:
    messages: list[ChatMessage] = [ChatMessageSystem(content="rules"), ChatMessageUser(content="question")]
    for n in range(rounds):
        call = ToolCall(id=str(n), function="measure", arguments={})
        messages += [
            ChatMessageAssistant(content=f"turn {n}", tool_calls=[call]),
            ChatMessageTool(content=f"answer {n}", tool_call_id=str(n)),
        ]
    return messages


def test_the_opening_and_the_latest_rounds_stay() -> None:
    messages = conversation(8)
    messages.insert(6, ChatMessageUser(content="now predict", metadata=ANSWER_PHASE))
    window = Window(reminder=lambda: "H1 is open.")
    assert window.shown(messages) == messages
    assert window.shorten(messages)
    shown = window.shown(messages)
    assert [m.text for m in shown[:2]] == ["rules", "question"]
    assert "the 4 oldest rounds" in shown[2].text
    assert "H1 is open." in shown[2].text
    assert shown[3].text == "now predict"
    assert shown[4:] == messages[-8:]
    while window.shorten(messages):
        pass
    assert len(split(window.shown(messages))[1]) == 1


def test_a_small_context_keeps_the_record_whole(
    run_halides: Callable[..., EvalLog], scripted: Callable[..., Model]
) -> None:
    def full(n: int) -> ModelOutput:
        output = ModelOutput.for_tool_call(
            "m", "propose_hypothesis", {"statement": f"rule {n}", "prior": 0.5, "rationale": "x"}
        )
        output.usage = ModelUsage(input_tokens=400 * n, output_tokens=5, total_tokens=400 * n + 5)
        return output

    seen: list[list[ChatMessage]] = []
    finish = ("finish_research", {"summary": "x"})
    model = scripted([*map(full, range(1, 7)), finish, finish, "no"], seen)
    log = run_halides("hep", model, {"context_limit": 2000})
    assert log.status == "success"
    assert log.samples
    lengths = [len(s) for s in seen]
    assert lengths[5] < lengths[4]
    assert "H1 (proposed, P = 0.5): rule 1" in "".join(m.text for m in seen[5])
    assert len(log.samples[0].store_as(RegistryStore).state().hypotheses) == 6


LONG = """
import sys
from pathlib import Path
from inspect_ai import eval as inspect_eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from hepbench.tasks.family import family

turn = 0

def answer(messages, tools, choice, config):
    global turn
    turn += 1
    if turn % 4:
        compound = ("LiF", "LiCl", "NaF", "KF", "RbF", "RbCl")[turn % 6]
        call = "compare_structures", {"compound": compound, "prototypes": ["rock salt", "CsCl"]}
    else:
        text = f"Compounds with a descriptor number {turn * 7919} above {turn} take rock salt"
        call = "propose_hypothesis", {"statement": text, "prior": 0.5, "rationale": "because " * 20}
    output = ModelOutput.for_tool_call("m", *call)
    output.choices[0].message.content = "I think " * 40
    output.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return output

model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
task = family(family=sys.argv[1], potential="law", turn_limit=200)
log = inspect_eval(task, model=model, log_dir=sys.argv[2], display="none")[0]
size = next(Path(sys.argv[2]).glob("*.eval")).stat().st_size
# Not ru_maxrss: over an exec that one keeps the size of the process that forked.
peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
print(log.status, turn, int(peak) // 1024, size // 1024)
"""


def test_200_turns_stay_small(halides: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LONG, halides, str(tmp_path / "long")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    status, turns, megabytes, kilobytes = done.stdout.split()[-4:]
    assert status == "success"
    assert int(turns) > 200
    assert int(megabytes) < 300
    assert int(kilobytes) < 1024

"""What is read from messages, and scripts replayed over it."""

from __future__ import annotations

from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageTool, ChatMessageUser
from inspect_ai.tool import ToolCall, ToolCallError

from hepbench.harness.scientist.conversation import Call, read
from hepbench.harness.scientist.script import Script, Turn, one, replay


def exchange(name: str, text: str, error: str = "", call_id: str = "1") -> list[ChatMessage]:
    call = ToolCall(id=call_id, function=name, arguments={"a": 1})
    failed = ToolCallError("unknown", error) if error else None
    return [
        ChatMessageAssistant(content="", tool_calls=[call]),
        ChatMessageTool(content=text, tool_call_id=call_id, error=failed),
    ]


def test_answers_are_json_text_or_refusals() -> None:
    talk = read(
        [
            *exchange("good", '{"x": 1}', call_id="1"),
            *exchange("words", "The research is over.", call_id="2"),
            *exchange("no", "", "Refused (gate 3, evidence): no.", call_id="3"),
            *exchange("said", "Refused (gate 3, evidence): no.", call_id="4"),
            *exchange("list", "[1, 2]", call_id="5"),
        ]
    )
    answers = {call.tool: answer for call, answer in talk.exchanges}
    assert answers["good"].data == {"x": 1}
    assert answers["words"].data == {"text": "The research is over."}
    assert [name for name, answer in answers.items() if not answer.ok] == ["no", "said"]
    assert answers["list"].ok


def test_the_question_and_its_labels_are_found() -> None:
    asked = "**Held-out compounds:** ThO2, `PaO2`, ThO2\n\nLabels: alpha-PbO2, CdI2-type."
    question = read([ChatMessageUser(content=f"It is over.\n\n{asked}\n\nCall it: now.")]).question
    assert question is not None
    assert question.compounds == ("ThO2", "PaO2")
    assert question.labels == ("alpha-PbO2", "CdI2-type")


def test_only_a_user_asks() -> None:
    assert read([ChatMessageAssistant(content="Held-out compounds: A")]).question is None


def test_turns_running_out_are_noticed() -> None:
    assert read([ChatMessageUser(content="10 turns are left for the research. Still open: H1.")]).hurried
    assert not read([ChatMessageUser(content="You have 150 turns.")]).hurried


def test_the_digest_sees_every_change() -> None:
    messages = exchange("x", "{}")
    digests = {read(m).digest for m in (messages, messages[:1], exchange("y", "{}"), exchange("x", "[]"), [])}
    assert len(digests) == 5


def study() -> Script[None]:
    first = yield from one("First.", "look", a=1)
    yield Turn("Then.", (Call("look", {"a": 1}), Call("write", {"x": first.data.get("x")})))


def test_a_script_goes_on_where_the_conversation_ends() -> None:
    opening: list[ChatMessage] = []
    assert replay(study(), read(opening, ["look", "write"])) == Turn("First.", (Call("look", {"a": 1}),))
    looked = exchange("look", '{"x": 5}', call_id="1")
    again = Turn("Then.", (Call("look", {"a": 1}), Call("write", {"x": 5})))
    assert replay(study(), read(looked, ["look", "write"])) == again


def test_only_what_was_not_answered_is_asked_again() -> None:
    talk = read(
        [*exchange("look", '{"x": 5}', call_id="1"), *exchange("look", "{}", call_id="2")], ["look", "write"]
    )
    assert replay(study(), talk) == Turn("Then.", (Call("write", {"x": 5}),))


def test_what_is_not_offered_is_refused_at_once() -> None:
    assert replay(study(), read([], ["write"])) == Turn("Then.", (Call("write", {"x": None}),))
    assert replay(study(), read([], [])) is None

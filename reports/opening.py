"""Eval logs opened safely: whatever is in the file, the answer is a log or one line, in bounded memory.

Every command that reads logs comes through here. Samples are read one at a time. Their transcripts stay raw:
Inspect expands each model call to the whole conversation before it, which for a long run takes minutes and
gigabytes, while what an audit or a report asks of a transcript is the tool calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Self

from inspect_ai._util.file import file as open_anywhere  # local paths and every URL that Inspect takes
from inspect_ai.log import EvalLog, EvalSample, list_eval_logs
from inspect_ai.model import ChatMessage
from pydantic import TypeAdapter

from hepbench.harness.protocol.places import is_local, local_path
from hepbench.harness.text import clean, shorten
from hepbench.reports.archive import Archive
from hepbench.reports.parsing import (
    ContentError,
    JSONObject,
    member_limit,
    parse,
    parse_object,
    too_large,
)

_HEADER, _START, _REDUCTIONS = "header.json", "_journal/start.json", "reductions.json"
_SAMPLES = "samples/"
_ATTACHMENT = "attachment://"
_PUT_BACK = 4
"""Times the limit of a member that attachments may come to where they are put back, each in many places."""

_NOT_PLAIN = frozenset({str, list, dict})
_APART = ("messages", "events", "attachments", "events_data", "timelines")
_OF_A_CALL = frozenset({"id", "function", "arguments", "result", "error", "completed"})
_MESSAGES = TypeAdapter(list[ChatMessage])


class LogError(Exception):
    """A log that is not there or cannot be read; the message says which and why in one line."""


@dataclass(frozen=True)
class ToolCall:
    """A tool call as the transcript has it.

    Attributes:
        function: Name of the tool.
        arguments: What the model asked for.
        answer: Text that the model was given; None if the call never came back.
        error: The tool's refusal or failure instead of an answer.
        kind: Inspect's type of the error, such as "parsing"; empty without one.
    """

    function: str
    arguments: Mapping[str, Any]
    answer: str | None
    error: str = ""
    kind: str = ""

    @cached_property
    def said(self) -> Mapping[str, Any]:
        """The JSON object of the answer; an empty one if it is none."""
        try:
            said = json.loads(self.answer or "null")
        except (ValueError, RecursionError):
            return {}
        return said if isinstance(said, dict) else {}


@dataclass(frozen=True)
class LoggedSample:
    """A sample as it stands in the log.

    Attributes:
        where: The log.
        raw: The whole of it as JSON.
    """

    where: str
    raw: JSONObject = field(repr=False)

    @cached_property
    def light(self) -> EvalSample:
        """Inspect's object, without conversation and transcript.

        Raises:
            LogError: it does not fit Inspect's schema.
        """
        with one_line(self.where):
            kept = {name: self.raw[name] for name in self.raw if name not in _APART}
            return EvalSample.model_validate({**kept, "messages": []})

    @cached_property
    def sample(self) -> EvalSample:
        """Inspect's object, without the transcript's events.

        Raises:
            LogError: it does not fit Inspect's schema.
        """
        with one_line(self.where):
            messages = _MESSAGES.validate_python(self.resolved(self.raw.get("messages") or []))
        return self.light.model_copy(update={"messages": messages})

    def transcript(self, *kinds: str) -> Iterator[Mapping[str, Any]]:
        """The transcript's events of these kinds, raw but for attachments, in order."""
        return (self.resolved(dict(event)) for event in self.events(*kinds))

    def events(self, *kinds: str) -> Iterator[JSONObject]:
        """The transcript's events of these kinds, raw, in order."""
        return (event for kind, event in self._events if kind in kinds)

    @cached_property
    def tool_events(self) -> tuple[Mapping[str, Any], ...]:
        """The transcript's events of tools, in order: what was called, and what came of it."""
        return tuple(
            {name: self.resolved(event[name]) for name in event if name in _OF_A_CALL}
            for event in self.events("tool")
        )

    def tool_calls(self) -> list[ToolCall]:
        """The tool calls of the transcript, in order."""
        return [_tool_call(event) for event in self.tool_events]

    def changes(self, place: re.Pattern[str]) -> Iterator[tuple[re.Match[str], JSONObject]]:
        """The store's changes at paths of this form, in order: path and change.

        Changes are raw: most of a transcript is changes, and nearly all can be told without resolving.
        """
        for event in self.events("store"):
            for change in event.objects("changes"):
                path = self.resolved(change.get("path"))
                found = place.match(path) if isinstance(path, str) else None
                if found is not None:
                    yield found, change

    def resolved(self, value: Any) -> Any:
        """A raw value with attachments put back where Inspect took them out."""
        return _resolved(value, self._attachments)

    @cached_property
    def _events(self) -> list[tuple[Any, JSONObject]]:
        return [(event.get("event"), event) for event in self.raw.objects("events")]

    @cached_property
    def _attachments(self) -> Attachments:
        return Attachments(self.raw.get("attachments") or {})


class Attachments:
    """Texts that Inspect took out of a sample, handed back up to a bound: short references name long texts.

    Args:
        texts: Name → text.
    """

    def __init__(self, texts: Mapping[str, Any]) -> None:
        self._texts = texts
        self._left = _PUT_BACK * member_limit()

    def get(self, name: str, otherwise: str) -> str:
        """A text, or what stands in if there is none of the name.

        Raises:
            ContentError: too much was handed back.
        """
        found = self._texts.get(name)
        if not isinstance(found, str):
            return otherwise
        self._left -= len(found)
        if self._left < 0:
            raise ContentError(too_large("the sample with its attachments", _PUT_BACK * member_limit()))
        return found


def _resolved(value: Any, attachments: Attachments) -> Any:
    kind = type(value)  # of what a JSON parser gives, nothing is of a derived type
    if kind is str:
        return _resolved_text(value, attachments)
    if kind is list:
        return [_resolved(v, attachments) if type(v) in _NOT_PLAIN else v for v in value]
    if kind is dict:
        return {k: _resolved(v, attachments) if type(v) in _NOT_PLAIN else v for k, v in value.items()}
    return value


def _resolved_text(value: Any, attachments: Attachments) -> Any:
    if type(value) is str and value.startswith(_ATTACHMENT):
        return attachments.get(value.removeprefix(_ATTACHMENT), value)
    return value


@dataclass(frozen=True)
class OpenLog:
    """A log that could be opened; a context manager that closes its file.

    Attributes:
        where: Path or URL.
        header: Everything but the samples.
    """

    where: str
    header: EvalLog
    _file: IO[bytes]
    _archive: Archive | None = None
    _raw: tuple[JSONObject, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._file.close()

    def samples(self) -> Iterator[LoggedSample]:
        """The samples that were finished, one at a time, by id and epoch.

        Raises:
            LogError: one of them cannot be read.
        """
        with one_line(self.where):
            for raw in self._raw_samples():
                yield LoggedSample(self.where, raw)

    def _raw_samples(self) -> Iterator[JSONObject]:
        if self._archive is None:
            yield from self._raw
            return
        names = [n for n in self._archive.members if n.startswith(_SAMPLES) and n.endswith(".json")]
        for name in sorted(names, key=_by_id_and_epoch):
            yield parse_object(self._archive.content(name), name)


def open_log(where: str) -> OpenLog:
    """Open a log, `.eval` or `.json`.

    Raises:
        LogError: it is not there, is no eval log, is damaged, or unpacks to more than is read.
    """
    with one_line(where), ExitStack() as stack:
        file = stack.enter_context(_file(where))
        opened = (_from_json if where.endswith(".json") else _from_archive)(where, file)
        stack.pop_all()
        return opened


def listed_logs(where: str) -> list[str]:
    """The logs of a folder or URL, of any depth, the newest first; as paths, or as URLs.

    Raises:
        LogError: it cannot be listed.
    """
    try:
        found = list_eval_logs(where, recursive=True, descending=True)
    except Exception as e:  # each kind of storage has a driver, and each driver errors of its own
        reason = shorten(" ".join(clean(str(e)).split()), 200)
        raise LogError(f"{shown(where)} cannot be listed ({type(e).__name__}: {reason}).") from e
    return [info.name.removeprefix("file://") for info in found]  # not quoted as in a real URL


def shown(where: str) -> str:
    """A log's name for a message."""
    return shorten(" ".join(clean(where).split()), 200)


def _from_archive(where: str, file: IO[bytes]) -> OpenLog:
    archive = Archive.open(file)
    if _HEADER in archive.members:
        raw = dict(parse_object(archive.content(_HEADER), _HEADER))
    else:  # the run was killed, or is still going on
        raw = {"status": "started", **parse_object(archive.content(_START), _START)}
    if _REDUCTIONS in archive.members and raw.get("results"):
        raw = {**raw, "reductions": parse(archive.content(_REDUCTIONS), _REDUCTIONS)}
    header = EvalLog.model_validate(raw)
    header.location = where
    return OpenLog(where, header, file, _archive=archive)


def _from_json(where: str, file: IO[bytes]) -> OpenLog:
    text = file.read(member_limit() + 1)
    if len(text) > member_limit():
        raise ContentError(too_large("the log", member_limit()))
    whole = parse_object(text, "the log")
    samples = tuple(whole.objects("samples"))
    header = EvalLog.model_validate({name: whole[name] for name in whole if name != "samples"})
    header.location = where
    return OpenLog(where, header, file, _raw=samples)


def _file(where: str) -> Any:
    if not is_local(where):
        return open_anywhere(where, "rb")
    return Path(local_path(where)).open("rb")


@contextmanager
def one_line(where: str) -> Iterator[None]:
    """Turn whatever a damaged or hostile file raises into one line with the log's name.

    Whoever looks into a log does it in here: a sample is raw JSON, and may hold anything anywhere.

    Raises:
        LogError: instead of whatever was raised.
    """
    try:
        yield
    except (LogError, GeneratorExit):
        raise
    except FileNotFoundError as e:
        raise LogError(f"There is no log {shown(where)}.") from e
    except Exception as e:  # zip, zstd, JSON, schema, file system, network: all are the file's fault
        reason = shorten(" ".join(clean(str(e)).split()), 200)
        kind = "" if isinstance(e, ContentError) else f"{type(e).__name__}: "
        raise LogError(f"{shown(where)} cannot be read as an eval log ({kind}{reason}).") from e


def _by_id_and_epoch(name: str) -> tuple[str, int]:
    stem, _, epoch = name.removesuffix(".json").rpartition("_epoch_")
    return stem, int(epoch) if epoch.isdecimal() else 0


def _tool_call(event: Mapping[str, Any]) -> ToolCall:
    error = event.get("error") or {}
    answered = event.get("completed") is not None or bool(error)
    return ToolCall(
        function=str(event.get("function")),
        arguments=event.get("arguments") or {},
        answer=_text(event.get("result")) if answered and not error else None,
        error=str(error.get("message", "")),
        kind=str(error.get("type", "")),
    )


def _text(result: Any) -> str:
    if isinstance(result, list):
        return "\n".join(str(part.get("text", "")) for part in result if isinstance(part, dict))
    return result if isinstance(result, str) else json.dumps(result)

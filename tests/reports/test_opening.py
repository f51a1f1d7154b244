"""Logs from anybody: opened whole, or refused with one line, in bounded memory."""

from __future__ import annotations

import contextlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.store import RegistryStore
from hepbench.reports import parsing
from hepbench.reports.gather import offered_tools
from hepbench.reports.opening import LogError, LoggedSample, open_log
from hepbench.reports.parsing import ContentError, parse_object

RunByHand = Callable[..., EvalLog]


def one_claim(registry: Registry, epoch: int) -> None:
    registry.propose(f"claim {epoch}", 0.5, "x" * 500)
    registry.end("done")


_MADE: list[EvalLog] = []


@pytest.fixture
def log(run_by_hand: RunByHand, tmp_path: Path) -> EvalLog:
    """A log of two epochs, run once for all tests of this file."""
    if not _MADE:
        _MADE.append(run_by_hand(one_claim, epochs=2))
    return _MADE[0]


def read(where: str) -> list[list[str]]:
    with open_log(where) as opened:
        stores = [logged.light.store_as(RegistryStore) for logged in opened.samples()]
    return [[event.type for event in store.run.events] for store in stores]


def test_both_formats_and_urls_are_read(log: EvalLog, tmp_path: Path) -> None:
    expected = [["RunStarted", "HypothesisProposed", "RunEnded"]] * 2
    as_json = str(tmp_path / "copy.json")
    write_eval_log(read_eval_log(log.location), as_json)
    assert read(log.location) == read(as_json) == read(f"file://{log.location}") == expected


def test_attachments_come_back_in_the_transcript(log: EvalLog) -> None:
    with open_log(log.location) as opened:
        logged = next(opened.samples())
        stored = list(logged.transcript("store"))
    assert "x" * 500 in json.dumps(stored)
    assert "attachment://" not in json.dumps(stored)


def test_a_run_that_was_killed_has_a_header(log: EvalLog, tmp_path: Path) -> None:
    killed = tmp_path / "killed.eval"
    with zipfile.ZipFile(log.location) as whole, zipfile.ZipFile(killed, "w") as part:
        part.writestr("_journal/start.json", whole.read("_journal/start.json"))
    with open_log(str(killed)) as opened:
        assert opened.header.status == "started"
        assert list(opened.samples()) == []


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return out.getvalue()


def with_stated_size(content: bytes, stated: int) -> bytes:
    """The archive with a lie about how much its members unpack to."""
    at = content.find(b"PK\x01\x02")
    while at >= 0:
        content = content[: at + 24] + struct.pack("<L", stated) + content[at + 28 :]
        at = content.find(b"PK\x01\x02", at + 46)
    return content


def zstd_bomb(megabytes: int) -> bytes:
    """header.json as zstd frames; the directory says it is stored as method 93."""
    packed = zstandard.ZstdCompressor(level=1).compress(b" " * 1_000_000) * megabytes
    content = zipped({"header.json": packed}, zipfile.ZIP_STORED)
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.find(signature) + offset
        content = content[:at] + struct.pack("<H", 93) + content[at + 2 :]
    return content


def many_members(count: int) -> bytes:
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 46 * count, 0, 0)
    return b"\x00" * 1_000 + end


HOSTILE: dict[str, Callable[[], bytes]] = {
    "empty": lambda: b"",
    "text": lambda: b"this is no log\n" * 100,
    "zeros": lambda: b"\x00" * 10_000,
    "an empty archive": lambda: zipped({}),
    "no header": lambda: zipped({"samples/a_epoch_1.json": b"{}"}),
    "header no JSON": lambda: zipped({"header.json": b"{"}),
    "header a list": lambda: zipped({"header.json": b"[]"}),
    "header of another kind": lambda: zipped({"header.json": b'{"version": 2}'}),
    "header nested deeply": lambda: zipped({"header.json": b"[" * 1_000_000}),
    "header of NaN": lambda: zipped({"header.json": b'{"version": NaN}'}),
    "bomb by deflate": lambda: zipped({"header.json": b" " * 60_000_000}),
    "bomb that lies about its size": lambda: with_stated_size(zipped({"header.json": b" " * 60_000_000}), 10),
    "bomb by zstd": lambda: zstd_bomb(100),
    "bomb of small values": lambda: zipped({"header.json": b"[" + b"{}," * 4_000_000 + b"{}]"}),
    "bomb in the directory": lambda: many_members(10_000_000),
    "unknown compression": lambda: zipped({"header.json": b"{}"}, zipfile.ZIP_BZIP2),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_log_is_refused_with_one_line(case: str, tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    path.write_bytes(HOSTILE[case]())
    with pytest.raises(LogError) as refused:
        read(str(path))
    assert "\n" not in str(refused.value)
    assert "x.eval" in str(refused.value)
    assert len(str(refused.value)) < 800


@pytest.mark.parametrize("case", ["empty", "text", "zeros"])
def test_json_logs_likewise(case: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(HOSTILE[case]())
    with pytest.raises(LogError, match=r"x\.json cannot be read"):
        read(str(path))


def test_a_large_json_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MAX_MEMBER_MB", 1)
    (tmp_path / "x.json").write_bytes(b" " * 1_000_001)
    with pytest.raises(LogError, match="HEPBENCH_MAX_SAMPLE_MB"):
        read(str(tmp_path / "x.json"))


def test_who_trusts_a_log_can_raise_the_limit(log: EvalLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MAX_MEMBER_MB", 0)
    with pytest.raises(LogError, match="HEPBENCH_MAX_SAMPLE_MB"):
        read(log.location)
    monkeypatch.setenv("HEPBENCH_MAX_SAMPLE_MB", "10")
    assert len(read(log.location)) == 2


def test_a_missing_log_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="There is no log"):
        read(str(tmp_path / "none.eval"))
    (tmp_path / "folder.eval").mkdir()
    with pytest.raises(LogError, match="cannot be read"):
        read(str(tmp_path / "folder.eval"))


def test_every_truncation_is_refused(log: EvalLog, tmp_path: Path) -> None:
    whole = Path(log.location).read_bytes()
    for cut in range(0, len(whole), max(1, len(whole) // 40)):
        (tmp_path / "cut.eval").write_bytes(whole[:cut])
        with pytest.raises(LogError):
            read(str(tmp_path / "cut.eval"))


def test_flipped_bytes_give_a_log_or_one_line(log: EvalLog, tmp_path: Path) -> None:
    whole = Path(log.location).read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        (tmp_path / "bad.eval").write_bytes(whole[:at] + bytes([whole[at] ^ 0x5A]) + whole[at + 1 :])
        with contextlib.suppress(LogError):
            read(str(tmp_path / "bad.eval"))


def test_a_checksum_is_checked(tmp_path: Path, log: EvalLog) -> None:
    """A stored member whose bytes were changed no longer has the checksum that the directory states."""
    content = zipped({"header.json": b'{"a": 1}'}, zipfile.ZIP_STORED).replace(b'{"a": 1}', b'{"a": 2}')
    assert zlib.crc32(b'{"a": 1}') != zlib.crc32(b'{"a": 2}')
    (tmp_path / "x.eval").write_bytes(content)
    with pytest.raises(LogError, match="checksum"):
        read(str(tmp_path / "x.eval"))


def test_an_error_of_the_caller_is_not_the_logs_fault(log: EvalLog) -> None:
    def careless() -> None:
        with open_log(log.location) as opened:
            for _ in opened.samples():
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        careless()


@pytest.mark.parametrize(
    "command",
    ["scores", "leaderboard", "audit", "report -o site", "baseline -o b.json", "compare a b --logs"],
)
def test_a_folder_in_the_cloud_without_a_login_is_one_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    done = CliRunner().invoke(app, [*command.split(), "s3://no-such-bucket/logs"])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code > 0
    assert len(done.stderr.strip().splitlines()) == 1
    assert "s3://no-such-bucket/logs cannot be listed (NoCredentialsError: " in done.stderr


def sample_of(**values: object) -> LoggedSample:
    return LoggedSample("x.eval", parse_object(json.dumps(values).encode(), "x"))


@pytest.mark.parametrize("offered", ["ABAA", "BABBB", "AB", "A"])
def test_of_several_definitions_of_a_tool_the_last_one_counts(offered: str) -> None:
    def generation(text: str) -> dict[str, object]:
        return {"event": "model", "tools": [{"name": "measure", "description": text}, {"name": "other"}]}

    told = offered_tools(sample_of(events=[generation(text) for text in offered]))
    assert told == offered_tools(sample_of(events=[generation(offered[-1])]))
    assert list(told) == ["measure", "other"]


def test_short_references_to_a_long_attachment_do_not_fill_the_memory() -> None:
    bomb = {"event": "tool", "id": ["attachment://a"] * 1_000, "result": "attachment://a"}
    with pytest.raises(ContentError, match="with its attachments unpacks to more than 128 MB"):
        _ = sample_of(attachments={"a": "x" * 1_000_000}, events=[bomb]).tool_events


def test_a_path_that_is_no_text_is_nobodys_change() -> None:
    change = {"op": "add", "path": ["attachment://a"] * 50, "value": {}}
    logged = sample_of(attachments={"a": "x" * 1_000_000}, events=[{"event": "store", "changes": [change]}])
    assert list(logged.changes(re.compile("."))) == []


def test_an_attachment_that_is_no_text_is_not_put_back() -> None:
    bomb = {"type": "text", "text": "x" * 1_000_000}
    many = ["attachment://a"] * 2_000
    event = {"event": "tool", "id": "1", "function": "f", "completed": "now", "result": many}
    (call,) = sample_of(attachments={"a": bomb}, events=[event]).tool_calls()
    assert len(call.answer or "") < 100_000


COMMANDS = (["scores"], ["hypotheses"], ["audit"], ["leaderboard"], ["report", "-o", "site"])


@pytest.mark.parametrize("where", ["target", "store", "metadata", "events", "messages"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_a_byte_that_is_no_text_is_one_line_in_every_command(
    log: EvalLog, command: list[str], where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_eval_log(read_eval_log(log.location), "whole.json")
    raw = json.loads(Path("whole.json").read_text())
    damaged = {"target": "@", "store": {"x": "@"}, "metadata": {"x": "@"}}
    raw["samples"][0][where] = damaged.get(where, [{"x": "@"}])
    Path("bad.json").write_bytes(json.dumps(raw).encode().replace(b'"@"', b'"Z\xc3("'))
    done = CliRunner().invoke(app, [*command, "bad.json"])
    assert done.exit_code in (1, 2, 4)
    assert isinstance(done.exception, SystemExit)
    assert "bad.json" in done.output

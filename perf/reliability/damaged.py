"""Damaged and hostile logs put to every command that reads logs: one line, bounded memory and time."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import zstandard
from inspect_ai import eval as inspect_eval

from hepbench.tasks.ao2 import ao2

MEMORY_MB = 500
PROGRAM = str(Path(sys.executable).with_name("hepbench"))
COMMANDS = {
    "audit": ["audit", "{}"],
    "scores": ["scores", "{}"],
    "hypotheses": ["hypotheses", "{}"],
    "journal diff": ["journal", "diff", "{journal}", "{}"],
    "leaderboard": ["leaderboard", "{}"],
    "compare": ["compare", "{}", "{}"],
    "check": ["check", "{}", "--baseline", "{folder}/good.json"],
    "baseline": ["baseline", "{}", "--output", "{folder}/baseline.json"],
    "report": ["report", "{}", "--output", "{folder}/site"],
}


def measure(*, quick: bool) -> list[tuple[str, str]]:
    """Each command on each kind of damage, as a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = inspect_eval(ao2(), model="hepbench/hasty", log_dir=str(folder / "logs"), display="none")[0]
        good = ["baseline", made.location, "--output", str(folder / "good.json")]
        subprocess.run([PROGRAM, *good], check=True, capture_output=True)
        journal = next(Path(made.location).with_suffix(".journal").iterdir())
        return [_row(folder, journal, *kind) for kind in _kinds(Path(made.location), quick=quick)]


def _kinds(log: Path, *, quick: bool) -> list[tuple[str, list[bytes]]]:
    whole, rng = log.read_bytes(), random.Random(3)  # noqa: S311
    cuts = [whole[: rng.randrange(len(whole))] for _ in range(2 if quick else 5)]
    garbled = [_garbled(whole, rng) for _ in range(2 if quick else 5)]
    big = 200 if quick else 2_000
    return [
        ("truncated", cuts),
        ("garbled", garbled),
        ("no archive", [b"", b"\x00" * 1_000_000, os.urandom(1_000_000)]),
        (f"zip bomb, deflate, {big:,} MB", [_deflate_bomb(big)]),
        (f"zip bomb, zstd, {big:,} MB", [_zstd_bomb(big)]),
        ("zip bomb in the sample", [_sample_bomb(log, big)]),
        ("bomb of small JSON values, 30 MB", [_zipped(b"[" + b"{}," * 10_000_000 + b"{}]")]),
        ("JSON nested 1,000,000 deep", [_zipped(b"[" * 1_000_000)]),
        ("directory of 10,000,000 members", [_directory_bomb()]),
    ]


def _row(folder: Path, journal: Path, kind: str, contents: list[bytes]) -> tuple[str, str]:
    memory = seconds = lines = 0.0
    calm = True
    for content in contents:
        path = folder / "x.eval"
        path.write_bytes(content)
        for command in COMMANDS.values():
            code, said, used, took = _run(command, path, journal, folder)
            memory, seconds, lines = max(memory, used), max(seconds, took), max(lines, said)
            calm &= code != 0
    bad = "" if calm and memory <= MEMORY_MB else " **(too much)**"
    total = len(contents) * len(COMMANDS)
    cost = f"{memory:.0f} MB, {seconds:.1f} s of processor time{bad}"
    return kind, f"{total} calls: at most {lines:.0f} line of error, {cost}"


def _run(command: list[str], log: Path, journal: Path, folder: Path) -> tuple[int, int, float, float]:
    """Exit code, lines of error, peak memory in MB, and seconds of processor time."""
    filled = [part.format(log, journal=journal, folder=folder) for part in command]
    with (folder / "error").open("w+b") as error:
        process = subprocess.Popen([PROGRAM, *filled], stdout=subprocess.DEVNULL, stderr=error)
        _, status, used = os.wait4(process.pid, 0)
        error.seek(0)
        said = [line for line in error.read().decode(errors="replace").splitlines() if line.strip()]
    if any("Traceback" in line for line in said):
        raise SystemExit(f"{' '.join(filled)}: {said[-1]}")
    return os.waitstatus_to_exitcode(status), len(said), used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def _garbled(whole: bytes, rng: random.Random) -> bytes:
    content = bytearray(whole)
    for _ in range(200):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def _zipped(header: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        file.writestr("header.json", header)
    return out.getvalue()


def _deflate_bomb(megabytes: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file, file.open("header.json", "w") as member:
        for _ in range(megabytes):
            member.write(b" " * 1_000_000)
    return out.getvalue()


def _zstd_bomb(megabytes: int) -> bytes:
    packed = zstandard.ZstdCompressor().compress(b" " * 1_000_000) * megabytes
    content = _zipped(packed, zipfile.ZIP_STORED)
    for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = content.find(signature) + offset
        content = content[:at] + struct.pack("<H", 93) + content[at + 2 :]
    return content


def _sample_bomb(log: Path, megabytes: int) -> bytes:
    """A whole header, and a sample that never ends."""
    out = io.BytesIO()
    with zipfile.ZipFile(log) as whole, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name in whole.namelist():
            if not name.startswith("samples/"):
                file.writestr(name, whole.read(name))
        with file.open("samples/ao2_epoch_1.json", "w") as member:
            member.write(b'{"id": "ao2", "epoch": 1, "messages": "')
            for _ in range(megabytes):
                member.write(b"A" * 1_000_000)
    return out.getvalue()


def _directory_bomb() -> bytes:
    count = 10_000_000
    return b"\x00" * 1_000 + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 46 * count, 0, 0)

"""Members of an eval log's zip archive, read with a limit on what they unpack to.

An eval log may come from anybody. The standard library trusts a member's stated size and hands whole input
blocks to the decompressor; a few kilobytes can then fill the memory. Here the output is bounded while it is
made, whatever the archive says about itself.
"""

from __future__ import annotations

import gc
import io
import json
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import zstandard
from pydantic_core import from_json

MEGABYTE = 1_000_000
LIMIT_VARIABLE = "HEPBENCH_MAX_SAMPLE_MB"
"""Environment variable that allows larger samples to who knows where a log comes from."""

MAX_MEMBER_MB = 32
"""Unpacked megabytes of one member: a run of some 1,200 turns. Parsing takes about five times that."""

MAX_VALUES = 2_500_000
"""JSON values of one member, roughly: small ones cost more memory than their text."""

MAX_TOTAL_MB = 4_000
"""Unpacked megabytes of all members that are read: 64 samples at their limit, twice."""

_BYTES_OF_A_VALUE = 12
"""Text of a value in a log, at the least: 20 bytes and more were seen."""

_MAX_NESTING = 200
"""As Pydantic's parser has it."""

_MAX_DIRECTORY = 8 * MEGABYTE
_CHUNK = 1 << 16
_ZSTD = 93
_END_OF_DIRECTORY = b"PK\x05\x06"
_END_SIZE = 22


class ArchiveError(ValueError):
    """The archive is damaged, or unpacks to more than is read; the message is one line."""


def member_limit() -> int:
    """Unpacked bytes that one member may have."""
    asked = os.environ.get(LIMIT_VARIABLE, "")
    return (int(asked) if asked.isdecimal() else MAX_MEMBER_MB) * MEGABYTE


@dataclass
class Archive:
    """An open archive.

    Attributes:
        file: The seekable file.
        members: Name → entry; of several with one name the last counts, as for Inspect.
        unpacked: Bytes that were unpacked so far.
    """

    file: IO[bytes]
    members: dict[str, ZipInfo]
    unpacked: int = 0

    @classmethod
    def open(cls, file: IO[bytes]) -> Archive:
        """Read the directory of a zip archive.

        Raises:
            ArchiveError: it is no zip archive, or its directory is larger than that of any log.
        """
        _check_directory(file)
        try:
            with ZipFile(file) as archive:
                return cls(file, {info.filename: info for info in archive.infolist()})
        except (BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error, OverflowError) as e:
            raise ArchiveError(f"not a zip archive that can be read: {e}") from e

    def json(self, name: str) -> Any:
        """A member's JSON value.

        Raises:
            ArchiveError: there is no such member, it is damaged or too large, or it is not JSON.
        """
        if name not in self.members:
            raise ArchiveError(f"it has no {name}")
        return parse(self._bytes(name), name)

    def _bytes(self, name: str) -> bytes:
        limit, begin = member_limit(), self.unpacked
        chunks: list[bytes] = []
        try:
            for chunk in _unpacked(self.file, self.members[name]):
                chunks.append(chunk)
                self.unpacked += len(chunk)
                if self.unpacked - begin > limit or self.unpacked > MAX_TOTAL_MB * MEGABYTE:
                    raise ArchiveError(too_large(name, limit))
        except (zlib.error, zstandard.ZstdError, struct.error, EOFError) as e:
            raise ArchiveError(f"{name} is damaged: {e}") from e
        content = b"".join(chunks)
        if zlib.crc32(content) != self.members[name].CRC:
            raise ArchiveError(f"{name} is damaged: its checksum is wrong")
        return content


def too_large(name: str, limit: int) -> str:
    """The line for what unpacks to more than is read."""
    size = f"{name} unpacks to more than {limit // MEGABYTE} MB"
    return f"{size}; if you trust the log, set {LIMIT_VARIABLE} higher"


def parse(text: bytes, name: str) -> Any:
    """A JSON value of bounded size.

    Raises:
        ArchiveError: it is not JSON, is nested too deeply, or has too many values.
    """
    most = max(MAX_VALUES, member_limit() // _BYTES_OF_A_VALUE)
    if len(text) > most and sum(text.count(mark) for mark in (b",", b"[", b"{")) > most:
        raise ArchiveError(f"{name} has more values than any log; {LIMIT_VARIABLE} raises the limit")
    try:
        with no_collections():
            return _parsed(text)
    except RecursionError:
        raise ArchiveError(f"{name} is nested too deeply") from None
    except ValueError as e:
        raise ArchiveError(f"{name} is not JSON: {e}") from e


def _parsed(text: bytes) -> Any:
    """Pydantic's parser takes half the time; what it refuses, such as a lone surrogate, Python's decides.

    Both give values that are nested no deeper than functions that call themselves can go.
    """
    try:
        return from_json(text)
    except ValueError:
        return _cut(json.loads(text), _MAX_NESTING)


def _cut(value: Any, levels: int) -> Any:
    if not isinstance(value, dict | list):
        return value
    if not levels:
        return "a value that is nested too deeply"
    if isinstance(value, list):
        return [_cut(item, levels - 1) for item in value]
    return {key: _cut(item, levels - 1) for key, item in value.items()}


@contextmanager
def no_collections() -> Iterator[None]:
    """Without Python's search for cycles: parsed JSON has none, and the search takes as long as parsing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _check_directory(file: IO[bytes]) -> None:
    """Refuse a directory that would fill the memory before a single member is read."""
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - _END_SIZE - 0xFFFF))
    tail = file.read()
    at = tail.rfind(_END_OF_DIRECTORY)
    if at < 0 or len(tail) < at + _END_SIZE:
        raise ArchiveError("not a zip archive, or its end is missing")
    (size,) = struct.unpack_from("<L", tail, at + 12)
    if size > _MAX_DIRECTORY:
        raise ArchiveError("its directory of members is larger than that of any log")


def _unpacked(file: IO[bytes], info: ZipInfo) -> Iterator[bytes]:
    """A member's content in chunks."""
    if info.flag_bits & 1:
        raise ArchiveError(f"{info.filename} is encrypted")
    packed = _Packed(file, _content_offset(file, info), info.compress_size)
    if info.compress_type == ZIP_STORED:
        yield from iter(lambda: packed.read(_CHUNK), b"")
    elif info.compress_type == ZIP_DEFLATED:
        yield from _inflated(packed)
    elif info.compress_type == _ZSTD:
        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        with decompressor.stream_reader(cast("IO[bytes]", packed), read_across_frames=True) as reader:
            yield from iter(lambda: reader.read(_CHUNK), b"")
    else:
        raise ArchiveError(f"{info.filename} is compressed in an unknown way ({info.compress_type})")


def _inflated(packed: _Packed) -> Iterator[bytes]:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflate.eof:
        block = inflate.unconsumed_tail or packed.read(_CHUNK)
        if not block:
            raise EOFError("it ends too early")
        yield inflate.decompress(block, _CHUNK)


def _content_offset(file: IO[bytes], info: ZipInfo) -> int:
    file.seek(info.header_offset)
    header = file.read(30)
    signature, name, extra = struct.unpack("<4s22xHH", header)
    if signature != b"PK\x03\x04":
        raise ArchiveError(f"{info.filename} is not where the directory says")
    return info.header_offset + 30 + int(name) + int(extra)


class _Packed(io.RawIOBase):
    """The packed bytes of one member."""

    def __init__(self, file: IO[bytes], offset: int, size: int) -> None:
        self._file = file
        self._at = offset
        self._left = size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most so many of the bytes that are left."""
        self._file.seek(self._at)
        block = self._file.read(self._left if size < 0 else min(size, self._left))
        self._at += len(block)
        self._left -= len(block)
        return block

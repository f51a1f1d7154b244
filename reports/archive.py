"""Members of an eval log's zip archive, read with a limit on what they unpack to.

An eval log may come from anybody. The standard library trusts a member's stated size and hands whole input
blocks to the decompressor; a few kilobytes can then fill the memory. Here the output is bounded while it is
made, whatever the archive says about itself.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import zstandard

from hepbench.reports.parsing import MEGABYTE, ContentError, member_limit, too_large

MAX_TOTAL_MB = 4_000
"""Unpacked megabytes of all members that are read: 64 samples at their limit, twice."""

_MAX_DIRECTORY = 8 * MEGABYTE
_CHUNK = 1 << 16
_ZSTD = 93
_END_OF_DIRECTORY = b"PK\x05\x06"
_END_SIZE = 22


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
            ContentError: it is no zip archive, or its directory is larger than that of any log.
        """
        _check_directory(file)
        try:
            with ZipFile(file) as archive:
                return cls(file, {info.filename: info for info in archive.infolist()})
        except (BadZipFile, NotImplementedError, UnicodeDecodeError, struct.error, OverflowError) as e:
            raise ContentError(f"not a zip archive that can be read: {e}") from e

    def content(self, name: str) -> bytes:
        """A member's content.

        Raises:
            ContentError: there is no such member, or it is damaged or too large.
        """
        if name not in self.members:
            raise ContentError(f"it has no {name}")
        limit, begin = member_limit(), self.unpacked
        chunks: list[bytes] = []
        try:
            for chunk in _unpacked(self.file, self.members[name]):
                chunks.append(chunk)
                self.unpacked += len(chunk)
                if self.unpacked - begin > limit or self.unpacked > MAX_TOTAL_MB * MEGABYTE:
                    raise ContentError(too_large(name, limit))
        except (zlib.error, zstandard.ZstdError, struct.error, EOFError) as e:
            raise ContentError(f"{name} is damaged: {e}") from e
        content = b"".join(chunks)
        if zlib.crc32(content) != self.members[name].CRC:
            raise ContentError(f"{name} is damaged: its checksum is wrong")
        return content


def _check_directory(file: IO[bytes]) -> None:
    """Refuse a directory that would fill the memory before a single member is read."""
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - _END_SIZE - 0xFFFF))
    tail = file.read()
    at = tail.rfind(_END_OF_DIRECTORY)
    if at < 0 or len(tail) < at + _END_SIZE:
        raise ContentError("not a zip archive, or its end is missing")
    (size,) = struct.unpack_from("<L", tail, at + 12)
    if size > _MAX_DIRECTORY:
        raise ContentError("its directory of members is larger than that of any log")


def _unpacked(file: IO[bytes], info: ZipInfo) -> Iterator[bytes]:
    """A member's content in chunks."""
    if info.flag_bits & 1:
        raise ContentError(f"{info.filename} is encrypted")
    packed = _Packed(file, _content_offset(file, info), info.compress_size)
    if info.compress_type == ZIP_STORED:
        yield from iter(lambda: packed.read(_CHUNK), b"")
    elif info.compress_type == ZIP_DEFLATED:
        yield from _inflated(packed)
    elif info.compress_type == _ZSTD:
        decompressor = zstandard.ZstdDecompressor(max_window_size=1 << 27)
        with decompressor.stream_reader(cast("IO[bytes]", packed), read_across_frames=True) as reader:
            size = min(info.file_size, member_limit()) or _CHUNK  # as stated: at once, if it is true
            while chunk := reader.read(size):
                yield chunk
                size = _CHUNK
    else:
        raise ContentError(f"{info.filename} is compressed in an unknown way ({info.compress_type})")


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
        raise ContentError(f"{info.filename} is not where the directory says")
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

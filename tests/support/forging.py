"""Forged logs: a real log's sample edited, its hashes computed again, and written back."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import inspect_ai.log  # noqa: F401 - teaches the zipfile module the logs' compression

from hepbench.harness.protocol.events import GENESIS, Event, event_hash

Sample = dict[str, Any]
Edit = Callable[[Sample], int | None]
"""Changes a sample in place; returns the sequence number of the event it forged, if it is one."""


def forge(
    log: Path, target: Path, edit: Edit, header: Callable[[dict[str, Any]], None] | None = None
) -> int | None:
    """Write a forged copy of a log with one sample."""
    forged: int | None = None
    with zipfile.ZipFile(log) as whole, zipfile.ZipFile(target, "w") as copy:
        for name in whole.namelist():
            content = whole.read(name)
            if name.startswith("samples/"):
                sample = json.loads(content)
                forged = edit(sample)
                content = json.dumps(sample).encode()
            elif name == "header.json" and header is not None:
                stated = json.loads(content)
                header(stated)
                content = json.dumps(stated).encode()
            copy.writestr(name, content)
    return forged


def events(sample: Sample) -> list[dict[str, Any]]:
    """The record's events."""
    found: list[dict[str, Any]] = sample["store"]["RegistryStore:run"]["events"]
    return found


def first(sample: Sample, kind: str, **payload: Any) -> dict[str, Any]:
    """The first event of a type whose payload says these things."""
    return next(
        e
        for e in events(sample)
        if e["type"] == kind and all(e["payload"].get(k) == v for k, v in payload.items())
    )


def rehash(sample: Sample) -> None:
    """Number the events anew and make the chain sound."""
    previous = GENESIS
    for seq, event in enumerate(events(sample), start=1):
        event["seq"], event["previous_hash"] = seq, previous
        event["hash"] = previous = event_hash(Event.model_validate(event | {"hash": ""}))


def everywhere(sample: Sample, old: str, new: str) -> None:
    """Replace a text in conversation and transcript, wherever Inspect keeps a copy."""
    for part in ("messages", "events", "attachments", "events_data", "output"):
        if part in sample:
            sample[part] = json.loads(json.dumps(sample[part]).replace(old, new))

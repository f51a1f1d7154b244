from __future__ import annotations

from pathlib import Path

import made_folders
import pytest
from unaudited import unaudited


@pytest.fixture
def suite_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_folders.suite_logs(tmp_path_factory.getbasetemp())


@pytest.fixture
def hostile_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_folders.hostile_logs(tmp_path_factory.getbasetemp())


@pytest.fixture
def no_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made logs have no transcript that an audit could hold their record against."""
    monkeypatch.setattr("hepbench.benchmark.leaderboard.pool.readings", unaudited)

"""The wheel, built from the sdist as a release is: one top-level name, all five parts, and the data in it."""

from __future__ import annotations

import configparser
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("benchmark", "reports", "tasks", "scorers", "harness")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an sdist of this tree and the wheel built from it, by the hatchling that is installed."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def names(built: Path) -> set[str]:
    """What is in the wheel."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def shipped(part: str) -> set[str]:
    """The files of a folder that a user needs: all but caches and the journals of builds under way."""
    files = (path for path in (ROOT / part).rglob("*") if path.is_file() and not path.match("journal-*"))
    return {f"hepbench/{p.relative_to(ROOT).as_posix()}" for p in files if "__pycache__" not in p.parts}


def test_one_top_level_name(names: set[str]) -> None:
    top = {name.split("/")[0] for name in names}
    assert {t for t in top if not t.endswith(".dist-info")} == {"hepbench"}
    assert "hepbench/py.typed" in names


@pytest.mark.parametrize("part", PARTS)
def test_every_file_of_every_part(names: set[str], part: str) -> None:
    expected = shipped(part)
    assert f"hepbench/{part}/__init__.py" in expected
    assert expected - names == set()


@pytest.mark.parametrize("pattern", ["/data/ao2/family.toml", "/data/ao2/reference/", "/agents/prompts/"])
def test_data_and_prompts(names: set[str], pattern: str) -> None:
    assert [name for name in names if pattern in name and "journal-" not in name]


def test_entry_points(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (path,) = [n for n in archive.namelist() if n.endswith(".dist-info/entry_points.txt")]
        found = configparser.ConfigParser()
        found.read_string(archive.read(path).decode())
    assert found["inspect_ai"]["hepbench"] == "hepbench.tasks._registry"
    assert found["console_scripts"]["hepbench"] == "hepbench.benchmark.cli:main"


def test_the_wheel_runs_without_the_repository(built: Path, tmp_path: Path) -> None:
    """Unpacked elsewhere, the package is found there, its data too."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)  # noqa: S202 (our own wheel)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import hepbench.tasks._registry\n"
        "from hepbench.tasks import families\n"
        "print(hepbench.__file__, families.load('ao2').id)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=120,
    )
    assert done.stdout.split() == [str(tmp_path / "hepbench" / "__init__.py"), "ao2"], done.stderr


def test_the_sdist_has_no_second_copy(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        top = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert top >= {
        "hepbench",
        "tests",
        "README.md",
        "CHANGELOG.md",
        "LICENSE",
        "constraints.txt",
        "pyproject.toml",
    }
    assert not top & set(PARTS)

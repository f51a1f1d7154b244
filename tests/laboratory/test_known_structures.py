"""Known structures: the shipped table against its own claims, the local database, and OPTIMADE providers."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from inspect_ai._util.error import PrerequisiteError

from hepbench.harness.laboratory import optimade
from hepbench.harness.laboratory.family import Compound, Family
from hepbench.harness.laboratory.known import (
    DatabaseError,
    KnownStructure,
    LocalDatabase,
    build_known,
    found_space_group,
    load_known,
)
from hepbench.harness.laboratory.optimade import OptimadeDatabase, reduced_formula
from hepbench.harness.laboratory.phases import Candidate, match_list
from hepbench.harness.laboratory.records import Relaxation
from hepbench.tasks import families
from hepbench.tasks.parameters import parameters

AO2 = families.load("ao2")
TABLE = families.DATA / "ao2" / "known.toml"


@pytest.mark.parametrize("known", load_known(TABLE), ids=lambda k: k.name)
def test_each_entry_is_what_it_says(known: KnownStructure) -> None:
    """Space group, phase and distances of the table, found again from its coordinates."""
    atoms = known.atoms()
    compound = AO2.compound(known.compound)
    assert compound is not None
    assert found_space_group(atoms) == known.space_group
    record = Relaxation(compound=known.compound, prototype="", space_group=known.space_group)
    stranger = AO2.prototypes[0].model_copy(update={"name": "none"})
    assert (match_list(AO2, compound, Candidate(stranger, record, atoms)) or "") == known.phase
    metal = next(a.index for a in atoms if a.symbol != "O")
    oxygens = [a.index for a in atoms if a.symbol == "O"]
    assert 1.59 < min((atoms * (3, 3, 3)).get_distances(metal, oxygens, mic=True)) < 2.45


def test_the_shipped_database_is_the_tables(tmp_path: Path) -> None:
    built = tmp_path / "known.db"
    assert build_known(TABLE, built) == len(load_known(TABLE))
    shipped = LocalDatabase(families.DATA / "ao2" / "known.db")
    for compound in AO2.compounds:
        assert LocalDatabase(built).entries(compound.formula) == shipped.entries(compound.formula)


def test_a_local_answer() -> None:
    entries = LocalDatabase(families.DATA / "ao2" / "known.db").entries("TiO2")
    assert [e.phase for e in entries] == ["rutile", "anatase", "brookite"]
    row = entries[0].row()
    assert row["cell_A_deg"][:3] == [4.5937, 4.5937, 2.9587]
    assert "Abrahams" in row["source"]
    assert "note" not in row
    assert LocalDatabase(families.DATA / "ao2" / "known.db").entries("XeO2") == []


@pytest.mark.parametrize("content", [None, b"rubbish" * 1000, b""])
def test_a_local_database_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "known.db"
    if content is not None:
        path.write_bytes(content)
    if content == b"":
        assert LocalDatabase(path).entries("TiO2") == []
        return
    with pytest.raises(DatabaseError) as caught:
        LocalDatabase(path).entries("TiO2")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"), [("space_group = 136", "space_group = 999"), ("[[", "[["[:1]), ("source", "sauce")]
)
def test_a_damaged_table_is_one_line(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(TABLE.read_text().replace(old, new, 1))
    with pytest.raises(DatabaseError) as caught:
        load_known(path)
    assert "\n" not in str(caught.value)


def test_where_a_run_looks(tmp_path: Path) -> None:
    assert isinstance(families.known_database(AO2, "local"), LocalDatabase)
    assert families.known_database(AO2, "off") is None
    assert isinstance(families.known_database(AO2, "https://example.org"), OptimadeDatabase)
    assert families.known_database(AO2, "some/file.db").path == Path("some/file.db")  # type: ignore[union-attr]


def test_the_task_takes_the_place() -> None:
    assert parameters("ao2", {"database": False}).database == "off"  # as Inspect reads `-T database=off`
    assert parameters("ao2", {"database": "https://example.org"}).database == "https://example.org"
    with pytest.raises(PrerequisiteError, match="give local, off, a file"):
        parameters("ao2", {"database": "nonsense"})


def test_a_database_that_cannot_be_used_is_refused_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database")
    for wrong, said in {
        "/nosuch.db": "database /nosuch.db: No such file",
        str(tmp_path / "text.db"): "is no database",
        "http://": "is no URL of an OPTIMADE provider",
        "https://h:x/": "is no URL of an OPTIMADE provider",
        "ftp://host/x": "is no URL of an OPTIMADE provider",
        "https://me:secret@host/optimade": "https://host/optimade is to be given without user, password",
        "https://host/optimade?key=secret": "https://host/optimade is to be given without user, password",
    }.items():
        with pytest.raises(PrerequisiteError, match=said) as told:
            parameters("ao2", {"database": wrong})
        assert "secret" not in str(told.value.message)
    with pytest.raises(DatabaseError, match="without user"):
        OptimadeDatabase("https://me:secret@host/optimade", AO2)
    shipped = str(families.DATA / "ao2" / "known.db")
    assert parameters("ao2", {"database": shipped}).database == shipped


def test_reduced_formulas() -> None:
    assert reduced_formula(tio2()) == "O2Ti"
    double = families.load("a2bbo6").compound("Sr2MgWO6")
    assert double is not None
    assert reduced_formula(double) == "MgO6Sr2W"


def tio2(family: Family = AO2) -> Compound:
    found = family.compound("TiO2")
    assert found is not None
    return found


def test_the_hand_of_a_crystal_does_not_matter() -> None:
    quartz = next(k for k in load_known(TABLE) if k.name == "quartz").atoms()
    quartz.positions *= -1
    sio2 = AO2.compound("SiO2")
    assert sio2 is not None
    assert found_space_group(quartz) == 154
    assert OptimadeDatabase("http://127.0.0.1", AO2)._phase(sio2, quartz, 154) == "alpha-quartz"


# OPTIMADE

Respond = Callable[[BaseHTTPRequestHandler], None]


@pytest.fixture
def provider() -> Iterator[Callable[[Respond], str]]:
    """Starts a provider that answers as told, and gives its base URL."""
    pytest.importorskip("optimade.client")
    servers: list[ThreadingHTTPServer] = []

    def start(respond: Respond) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                respond(self)

            def log_message(self, *args: object) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        servers[-1].daemon_threads = True
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def says(body: bytes, status: int = 200, **headers: str) -> Respond:
    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return respond


def stalls(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(8)


def drips(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(80):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.1)


HUGE = b'{"data": ["' + b"x" * 300_000 + b'"]}'


@pytest.mark.parametrize(
    ("respond", "told"),
    [
        (says(b"<html>not json</html>"), "no usable answer"),
        (says(b'{"data": {"a": 1}, "meta": {}, "links": {}}'), "no usable answer"),
        (says(b"[1, 2]"), "no usable answer"),
        (says(b"[" * 100_000), "no usable answer"),
        (says(b"{}", 500), "500"),
        (says(b'{"errors": [{"title": "Bad\\nRequest", "detail": "no"}]}', 400), "400"),
        (says(b"{}", 429), "did not answer within 3 s"),
        (says(HUGE), "more than 0.2 MB"),
        (says(gzip.compress(HUGE * 50), Content_Encoding="gzip"), "more than 0.2 MB"),
        (stalls, "gives no usable answer|did not answer within 3 s"),
        (drips, "did not answer within 3 s"),
    ],
    ids=["html", "object", "list", "deep", "500", "400", "429", "huge", "bomb", "stalls", "drips"],
)
def test_a_provider_that_misbehaves_is_one_line(
    provider: Callable[[Respond], str], respond: Respond, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimade, "MOST_BYTES", 200_000)
    database = OptimadeDatabase(provider(respond), AO2, time_limit=3.0)
    with pytest.raises(DatabaseError, match=told) as caught:
        database.entries("TiO2")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 350


def test_a_provider_that_is_not_there() -> None:
    pytest.importorskip("optimade.client")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DatabaseError, match=r"no usable answer|did not answer"):
        OptimadeDatabase(f"http://127.0.0.1:{port}", AO2, time_limit=10.0).entries("TiO2")


@pytest.fixture(scope="module")
def reference_server() -> Iterator[str]:
    """The reference server of the `optimade` package, with the structures of the table."""
    pytest.importorskip("optimade.client")
    pytest.importorskip("mongomock")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    program = Path(__file__).parents[1] / "support" / "optimade_server.py"
    settings = {"OPTIMADE_CONFIG_FILE": os.devnull, "OPTIMADE_LOG_DIR": tempfile.mkdtemp()}
    server = subprocess.Popen([sys.executable, program, port, TABLE], env=os.environ | settings)
    try:
        for _ in range(600):
            time.sleep(0.5)
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", int(port))):
                break
            assert server.poll() is None, "the reference server ended"
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)


def test_the_reference_server_of_optimade(reference_server: str) -> None:
    database = OptimadeDatabase(reference_server, AO2)
    found = database.entries("TiO2")
    assert sorted(str(e.phase) for e in found) == ["anatase", "brookite", "rutile"]
    rutile = next(e for e in found if e.phase == "rutile")
    assert rutile.space_group == 136
    assert rutile.volume == pytest.approx(10.41, abs=0.01)
    assert rutile.source.startswith(f"{reference_server}, structure known-")
    assert database.entries("RhO2") == []


def test_structures_that_are_not_the_compound_are_not_taken(provider: Callable[[Respond], str]) -> None:
    def resource(name: str, symbols: Any, positions: Any, cell: Any) -> dict[str, Any]:
        attributes = {
            "species_at_sites": symbols,
            "cartesian_site_positions": positions,
            "lattice_vectors": cell,
        }
        return {"id": name, "type": "structures", "attributes": attributes}

    cell = [[4, 0, 0], [0, 4, 0], [0, 0, 4]]
    places = [[0, 0, 0], [1, 1, 1], [3, 3, 3]]
    data = [
        resource("good", ["Ti", "O", "O"], places, cell),
        resource("sealed", ["U", "O", "O"], places, cell),
        resource("part", ["Ti", "O"], places[:2], cell),
        resource("vacancy", ["Ti", "O", "vacancy"], places, cell),
        resource("nan", ["Ti", "O", "O"], [[None] * 3] * 3, cell),
        resource("flat", ["Ti", "O", "O"], places, [[1, 0, 0]] * 3),
        resource("no cell", ["Ti", "O", "O"], places, None),
        {"id": "bare"},
        "text",
    ]
    url = provider(says(json.dumps({"data": data, "meta": {}, "links": {}}).encode()))
    assert [e.id for e in OptimadeDatabase(url, AO2).entries("TiO2")] == ["good"]

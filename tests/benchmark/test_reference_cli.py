import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hepbench.benchmark.cli import app
from hepbench.benchmark.reference_diff import cells, compare, summary
from hepbench.benchmark.splits import MAJORITY_LIMIT, SplitError, majority_scores, rewritten, split, unseen
from hepbench.benchmark.verification import Finding
from hepbench.harness.laboratory.family import load_family
from hepbench.harness.laboratory.potentials import DEFAULT_POTENTIAL
from hepbench.harness.laboratory.records import Relaxation
from hepbench.harness.laboratory.reference import ReferenceSet, Truth
from hepbench.tasks import families

BUILT = [
    f
    for f in families.FAMILY_IDS
    if (families.reference_path(f, DEFAULT_POTENTIAL) / "energies.csv").exists()
]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["reference", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def one_line(output: str) -> str:
    lines = output.strip().splitlines()
    assert len(lines) == 1, output
    assert lines[0].startswith("hepbench reference: ")
    return lines[0]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("show", "ao3"), "unknown family 'ao3'"),
        (("show", "ao2", "--potential", "none"), "unknown potential 'none'"),
        (("build", "ao3"), "unknown family"),
        (("build", "ao2", "--potential", "none"), "unknown potential 'none'"),
        (("verify", "ao2", "--output", "/no/such"), "No such file"),
        (
            ("split", "ao2", "--potential", "ase:a:b"),
            "made by `hepbench reference build ao2 --potential ase:a:b`",
        ),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments: tuple[str, ...], told: str) -> None:
    code, output = run(*arguments)
    assert code == 2
    assert told in one_line(output)


def test_output_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    code, output = run("build", "ao2", "--potential", "ase:ase.calculators.emt:EMT", "--output", str(blocked))
    assert code == 2
    assert str(blocked) in output.strip().splitlines()[-1]


def test_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    code, output = run("build", "ao2")
    assert code == 2
    assert one_line(output).endswith("pip install 'hepbench[chgnet]'")


@pytest.mark.parametrize("family", BUILT)
def test_show(family: str) -> None:
    code, table = run("show", family)
    assert code == 0
    code, markdown = run("show", family, "--markdown")
    assert code == 0
    lines = markdown.strip().splitlines()
    assert len(lines) == 2 + len(families.load(family).compounds)
    assert all(line.startswith("| ") for line in lines)
    assert table


@pytest.mark.parametrize("family", BUILT)
def test_shipped_split_is_the_seeded_one_and_the_majority_guess_fails(family: str) -> None:
    loaded = families.load(family)
    reference = ReferenceSet.load(families.reference_path(family, DEFAULT_POTENTIAL))
    truths = {c.formula: reference.truth(c.formula) for c in loaded.compounds}
    parts = {c.formula: c.part for c in loaded.compounds}
    assert parts == split(loaded, truths)
    scores = majority_scores(parts, truths)
    assert set(scores) == {"interpolation", "extrapolation"}
    assert all(score < MAJORITY_LIMIT for score in scores.values())
    assert not unseen(parts, truths)
    for compound in loaded.compounds:
        if compound.chemical_family in loaded.extrapolation:
            assert parts[compound.formula] == "extrapolation"
        elif truths[compound.formula].left_out:
            assert parts[compound.formula] == "exploration"


@pytest.mark.parametrize("family", BUILT)
def test_shipped_set_is_complete_and_small(family: str) -> None:
    path = families.reference_path(family, DEFAULT_POTENTIAL)
    loaded, reference = families.load(family), ReferenceSet.load(path)
    wanted = [(c.formula, p.name) for c in loaded.compounds for p in loaded.prototypes]
    assert list(reference.relaxations) == wanted
    assert sum(f.stat().st_size for f in path.iterdir()) < 10_000_000
    for (formula, name), record in reference.relaxations.items():
        if record.status == "ok":
            assert len(reference.structure(formula, name)) <= 24


def truth(formula: str, *labels: str) -> Truth:
    return Truth(formula, labels, dict.fromkeys(labels, 0.0), "" if labels else "left out")


def test_majority_counts_ties_as_right() -> None:
    truths = {"A": truth("A", "x"), "B": truth("B", "x", "y"), "C": truth("C", "y"), "D": truth("D", "z")}
    parts = {"A": "exploration", "B": "interpolation", "C": "interpolation", "D": "extrapolation"}
    assert majority_scores(parts, truths) == {"interpolation": 0.5, "extrapolation": 0.0}


def test_split_that_cannot_be_made() -> None:
    family = families.load("ao2")
    with pytest.raises(SplitError, match="no draw keeps the majority guess under"):
        split(family, {c.formula: truth(c.formula, "rutile") for c in family.compounds})


def test_a_split_with_nothing_to_hold_out_is_refused() -> None:
    family, truths = families.load("ao2"), various_truths()
    with pytest.raises(SplitError, match="no compound is of the extrapolation family noble gases"):
        split(family.model_copy(update={"extrapolation": ("noble gases",)}), truths)
    few = family.model_copy(update={"compounds": family.compounds[:1], "extrapolation": ()})
    with pytest.raises(SplitError, match="too few compounds to hold any of them out"):
        split(few, truths)


def various_truths() -> dict[str, Truth]:
    labels = ("rutile", "anatase", "fluorite")
    return {c.formula: truth(c.formula, labels[i % 3]) for i, c in enumerate(families.load("ao2").compounds)}


def test_left_out_compounds_are_explored_but_in_an_extrapolation_family() -> None:
    truths = various_truths() | {"ThO2": truth("ThO2"), "CrO2": truth("CrO2")}
    parts = split(families.load("ao2"), truths)
    assert parts["CrO2"] == "exploration"
    assert parts["ThO2"] == "extrapolation"


def test_a_held_out_answer_is_seen_in_exploration() -> None:
    truths = various_truths() | {"TiO2": truth("TiO2", "brookite")}
    assert split(families.load("ao2"), truths)["TiO2"] == "exploration"
    with pytest.raises(SplitError, match="ThO2 unseen"):
        split(families.load("ao2"), truths | {"ThO2": truth("ThO2", "cotunnite")})


def test_split_is_a_function_of_the_seed() -> None:
    family, truths = families.load("ao2"), various_truths()
    assert split(family, truths) == split(family, truths)
    assert split(family, truths) != split(family.model_copy(update={"split_seed": 1}), truths)


def test_rewriting_touches_nothing_but_the_parts(tmp_path: Path) -> None:
    path = families.DATA / "ao2" / "family.toml"
    before = path.read_text()
    family = families.load("ao2")
    assert rewritten(before, {c.formula: c.part for c in family.compounds}) == before
    changed = tmp_path / "family.toml"
    changed.write_text(rewritten(before, {"TiO2": "interpolation"}))
    moved = load_family(changed).compound("TiO2")
    assert moved is not None
    assert moved.part == "interpolation"


def test_findings() -> None:
    stored = Relaxation(
        compound="TiO2", prototype="rutile", energy=-9.0, volume=10.0, space_group=136, converged=True
    )
    assert Finding(stored, stored.model_copy(update={"energy": -9.0009, "volume": 10.09})).agrees
    assert not Finding(stored, stored.model_copy(update={"energy": -9.0011})).agrees
    assert not Finding(stored, stored.model_copy(update={"volume": 10.11})).agrees
    assert not Finding(stored, stored.model_copy(update={"space_group": 58})).agrees
    failed = Relaxation(compound="TiO2", prototype="rutile", status="failed", error="x")
    assert Finding(failed, failed).agrees
    assert not Finding(stored, failed).agrees
    assert "DIFFERS" in str(Finding(stored, failed))


def test_verify_recomputes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from hepbench.benchmark.reference import Build
    from hepbench.harness.laboratory.workers import WorkerPool

    ao2 = families.load("ao2")
    small = ao2.model_copy(
        update={
            "prototypes": tuple(p for p in ao2.prototypes if p.name in {"fluorite", "pyrite-type"}),
            "compounds": tuple(c for c in ao2.compounds if c.formula in {"NiO2", "PdO2"}),
        }
    )
    monkeypatch.setattr(families, "load", lambda _: small)
    emt = "ase:ase.calculators.emt:EMT"
    with WorkerPool(2) as pool:
        Build(small, emt, tmp_path).run(pool)
    code, output = run("verify", "ao2", "--sample", "2", "--output", str(tmp_path))
    assert code == 0, output
    assert "2 of 2 agree" in output


def test_diff_of_two_potentials_says_where_the_answer_is_another() -> None:
    code, table = run("diff", "ao2", "chgnet-0.3.0", "chgnet-r2scan", "--markdown")
    assert code == 0
    one, other = (
        ReferenceSet.load(families.reference_path("ao2", p)) for p in ("chgnet-0.3.0", "chgnet-r2scan")
    )
    family = families.load("ao2")
    rows = {line.split(" | ")[0].strip("| "): line for line in table.splitlines() if line.startswith("| ")}
    asked = [c.formula for c in family.compounds if not one.truth(c.formula).left_out]
    asked = [f for f in asked if not other.truth(f).left_out]
    same = [f for f in asked if set(one.truth(f).labels) & set(other.truth(f).labels)]
    assert 0 < len(same) < len(asked)  # the two potentials agree on something and not on everything
    for formula in asked:
        assert f"| {'yes' if formula in same else 'no'} |" in rows[formula]
        assert one.truth(formula).labels[0] in rows[formula]
        assert other.truth(formula).labels[0] in rows[formula]
    assert f"ties included: all {len(same)} of {len(asked)}" in table


def test_diff_of_a_set_with_itself_and_with_a_folder() -> None:
    path = families.reference_path("ao2", DEFAULT_POTENTIAL)
    code, table = run("diff", "ao2", DEFAULT_POTENTIAL, str(path))
    assert code == 0
    assert " no " not in table
    assert "1.000 on average" in table
    assert "beside the potential" not in table


def test_diff_without_a_set_is_one_line() -> None:
    code, output = run("diff", "ao2", DEFAULT_POTENTIAL, "none")
    assert code == 2
    assert "unknown potential 'none'" in one_line(output)


def test_diff_counts_what_a_set_does_not_hold_and_leaves_out() -> None:
    family = families.load("ao2")
    whole = ReferenceSet.load(families.reference_path("ao2", DEFAULT_POTENTIAL))
    part = replace(
        whole,
        relaxations={k: r for k, r in whole.relaxations.items() if k[0] != "TiO2"},
        provenance=whole.provenance.model_copy(update={"dtype": "float64"}),
    )
    found = compare(family, whole, part)
    first = found.rows[0]
    assert first.compound.formula == "TiO2"
    assert not first.comparable
    assert "not in the set" in cells(first)
    assert "left out" in cells(next(r for r in found.rows if r.compound.formula == "TeO2"))
    same, size = {group: (n, of) for group, n, of in found.agreement()}["all"]
    assert same == size == 30
    assert summary(found)[-1] == "beside the potential, these differ: dtype"

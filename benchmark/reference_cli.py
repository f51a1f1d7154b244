"""`hepbench reference`: build, verify, show, compare and split the reference sets.

Every error that a user can cause is one line on stderr: exit code 2, or 1 where the command's answer is "no".
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hepbench.benchmark.splits import SplitError, majority_scores, rewritten, split
from hepbench.harness.laboratory.cluster_worker import ClusterError
from hepbench.harness.laboratory.family import Family, FamilyError
from hepbench.harness.laboratory.potential import PotentialError
from hepbench.harness.laboratory.potentials import DEFAULT_POTENTIAL
from hepbench.harness.laboratory.potentials import potential as named_potential
from hepbench.harness.laboratory.reference import ReferenceError, ReferenceSet, Truth  # noqa: A004
from hepbench.tasks import families

if TYPE_CHECKING:
    from hepbench.benchmark.reference import Build

app = typer.Typer(no_args_is_help=True, help="Build, verify and show the reference sets.")

FamilyId = Annotated[str, typer.Argument(help="ao2, a2bbo6 or mx", metavar="FAMILY")]
PotentialId = Annotated[str, typer.Option("--potential", help="Its name, as `hepbench potentials` shows it.")]
Folder = Annotated[
    Path | None, typer.Option("--output", help="Folder of the set; default: where an eval looks for it.")
]
COMPOUNDS = "Only these, such as TiO2,SiO2; the set says that the others were not built."
Workers = Annotated[int, typer.Option(min=1, max=256, help="Worker processes, one thread each.")]
Scheduler = Annotated[
    str,
    typer.Option(help="Address of a Dask scheduler, tcp://host:8786, whose workers do the work instead."),
]


@app.command()
def build(
    family: FamilyId,
    potential: PotentialId = DEFAULT_POTENTIAL,
    workers: Workers = 2,
    scheduler: Scheduler = "",
    output: Folder = None,
    compounds: Annotated[str | None, typer.Option(help=COMPOUNDS)] = None,
) -> None:
    """Relax every candidate of a family and write its reference set. A killed build resumes.

    Compounds with an element that the potential does not know are left out, and the set says so.
    """
    with _one_line_errors():
        from hepbench.benchmark.reference import Build, not_built, require_no_loss
        from hepbench.harness.laboratory.cluster import open_pool

        chosen, named = families.load(family), named_potential(potential)
        named.check()
        folder = output or families.reference_path(family, named.id)
        with open_pool(scheduler, workers) as pool:
            not_held = not_built(chosen, potential, compounds.split(",") if compounds else None, pool)
            require_no_loss(folder, not_held)
            building = Build(chosen, potential, folder, not_held=not_held)
            with _progress(building):
                building.run(pool)
    for formula, reason in not_held.items():
        typer.echo(f"{formula} is left out: {reason}")
    typer.echo(f"wrote {folder}")


@app.command()
def verify(
    family: FamilyId,
    potential: PotentialId = DEFAULT_POTENTIAL,
    sample: Annotated[int, typer.Option(min=1, help="How many candidates to recompute.")] = 5,
    seed: Annotated[int, typer.Option(help="Which ones.")] = 0,
    workers: Workers = 2,
    scheduler: Scheduler = "",
    output: Folder = None,
) -> None:
    """Recompute a random sample from scratch; exit code 1 when one ends elsewhere."""
    with _one_line_errors():
        from hepbench.benchmark.verification import TOLERANCE, verify_sample
        from hepbench.harness.laboratory.cluster import open_pool

        chosen = families.load(family)
        reference = _set(family, potential, output)
        same = output is None or named_potential(potential).id == reference.provenance.potential
        picked = random.Random(seed).sample(  # noqa: S311 - a sample, not a secret
            sorted(reference.relaxations), min(sample, len(reference.relaxations))
        )
        with open_pool(scheduler, workers) as pool:
            findings = list(verify_sample(chosen, reference, picked, pool, potential if same else None))
    for finding in findings:
        typer.echo(str(finding))
    wrong = sum(not finding.agrees for finding in findings)
    typer.echo(f"{len(findings) - wrong} of {len(findings)} agree ({TOLERANCE})")
    raise typer.Exit(1 if wrong else 0)


@app.command()
def show(
    family: FamilyId,
    potential: PotentialId = DEFAULT_POTENTIAL,
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown table.")] = False,
    output: Folder = None,
) -> None:
    """Show each compound's lowest phases, the gap to the next one, and its part of the split."""
    with _one_line_errors():
        chosen = families.load(family)
        reference = _set(family, potential, output)
        rows = [_row(chosen, reference, c.formula) for c in chosen.compounds]
    stated = reference.provenance
    title = f"{chosen.title}: {chosen.label_name} by {stated.potential} (set {reference.sha256[:12]})"
    if markdown:
        _print_table(title, _HEAD, rows, markdown)
        return
    _print_table(title, _HEAD[:-1], [row[:-1] for row in rows], markdown)
    for row in rows:
        if row[-1]:
            typer.echo(f"{row[0]} is left out: {row[-1]}")


@app.command()
def diff(
    family: FamilyId,
    one: Annotated[str, typer.Argument(help="Potential id, or the folder of a set.")],
    other: Annotated[str, typer.Argument(help="Potential id, or the folder of a set.")],
    markdown: Annotated[bool, typer.Option("--markdown", help="A Markdown table.")] = False,
) -> None:
    """Lay the truths of two potentials beside each other: where the lowest phase is another."""
    with _one_line_errors():
        from hepbench.benchmark.reference_diff import HEAD, cells, compare, summary

        chosen = families.load(family)
        sets = [_named_set(family, name) for name in (one, other)]
        found = compare(chosen, *sets)
    names = [reference.provenance.potential for reference in sets]
    head = [title.format(one=names[0], other=names[1]) for title in HEAD]
    title = f"{chosen.title}: lowest phase; gap to the next, and cost of the first's in the second, meV/atom"
    _print_table(title, head, map(cells, found.rows), markdown)
    typer.echo("\n" + "\n".join(summary(found)))


@app.command(name="split")
def split_(
    family: FamilyId,
    potential: PotentialId = DEFAULT_POTENTIAL,
    write: Annotated[bool, typer.Option("--write", help="Write the parts into the family file.")] = False,
    output: Folder = None,
) -> None:
    """Redo the seeded split from the truth, and say where it differs from the family file."""
    with _one_line_errors():
        chosen = families.load(family)
        reference = _set(family, potential, output)
        truths = {c.formula: _truth(reference, c.formula) for c in chosen.compounds}
        parts = split(chosen, truths)
    changed = [c.formula for c in chosen.compounds if parts[c.formula] != c.part]
    for part, score in majority_scores(parts, truths).items():
        members = [formula for formula, its in parts.items() if its == part]
        typer.echo(f"{part}: {', '.join(members)} (majority guess scores {score:.2f})")
    typer.echo(f"differs from the family file: {', '.join(changed) or 'nowhere'}")
    if write:
        path = families.folder(family) / "family.toml"
        path.write_text(rewritten(path.read_text(encoding="utf-8"), parts), encoding="utf-8")


_HEAD = ("compound", "chemical family", "part", "lowest phase", "next phase", "gap, meV/atom", "left out")


def _row(family: Family, reference: ReferenceSet, formula: str) -> tuple[str, ...]:
    compound = family.compound(formula)
    assert compound is not None  # noqa: S101 - the caller takes it from the family
    truth = _truth(reference, formula)
    following = next((label for label in truth.above_lowest if label not in truth.labels), "")
    gap = "" if truth.gap is None else f"{truth.gap:.1f}"
    place = (formula, compound.chemical_family, compound.part)
    return (*place, " = ".join(truth.labels), following, gap, truth.left_out)


def _truth(reference: ReferenceSet, formula: str) -> Truth:
    try:
        return reference.truth(formula)
    except KeyError:
        raise ReferenceError(
            f"{reference.path} has no {formula}: build it again with `hepbench reference build`"
        ) from None


def _set(family: str, potential: str, folder: Path | None) -> ReferenceSet:
    return ReferenceSet.load(folder) if folder else families.reference_set(family, potential)


def _named_set(family: str, name: str) -> ReferenceSet:
    return _set(family, name, Path(name) if (Path(name) / "provenance.json").is_file() else None)


def _print_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], markdown: bool) -> None:
    if markdown:
        typer.echo("\n".join(f"| {' | '.join(line)} |" for line in [head, ("---",) * len(head), *rows]))
        return
    from rich.console import Console
    from rich.table import Column, Table

    lines = list(rows)
    # an empty column takes room
    used = [place for place in range(len(head)) if not lines or any(line[place] for line in lines)]
    columns = (Column(head[place], overflow="fold", no_wrap=head[place] == "part") for place in used)
    table = Table(*columns, box=None, padding=(0, 2, 0, 0), header_style="bold")
    for line in lines:
        table.add_row(*(line[place] for place in used))
    Console().print(title, highlight=False, markup=False, style="bold")
    Console().print(table)


@contextmanager
def _progress(building: Build) -> Iterator[None]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task(building.family.id, total=len(building.jobs()))
        building.done = lambda record: progress.update(
            bar, advance=1, description=f"{record.compound} {record.prototype}"
        )
        yield


@contextmanager
def _one_line_errors() -> Iterator[None]:
    try:
        yield
    except (ClusterError, FamilyError, PotentialError, ReferenceError, SplitError) as e:
        line = str(e)
    except ModuleNotFoundError as e:
        line = f"{e.name} is not installed: pip install 'hepbench[chgnet]'"
    except OSError as e:
        line = f"{e.filename or 'file'}: {e.strerror or e}"
    except KeyboardInterrupt:
        line = "interrupted; a build is resumed by the same command"
    else:
        return
    typer.echo(f"hepbench reference: {line}", err=True)
    raise typer.Exit(2)

"""The regression gate: four verdicts, each from one rule."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from made_folders import MODEL_A, SCRIPTED, log_of
from made_logs import Run
from rich.console import Console
from typer.testing import CliRunner
from unaudited import saying, unaudited

from hepbench.benchmark.check import Margins, Outcome, Verdict, check_runs, make_baseline, read_baseline
from hepbench.benchmark.check.baseline import to_json
from hepbench.benchmark.check.forms import to_junit, to_terminal
from hepbench.benchmark.check.gate import WAS_RUN, Check, decide
from hepbench.benchmark.cli import app
from hepbench.benchmark.leaderboard.collect import collect
from hepbench.benchmark.statistics import Estimate
from hepbench.reports.board import LeftOut

Checked = Callable[..., Verdict]


@pytest.fixture
def logs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[Run]], list[str]]:
    return lambda runs: [str(log_of(tmp_path_factory.getbasetemp(), run)) for run in runs]


@pytest.fixture
def checked(tmp_path: Path, logs: Callable[[list[Run]], list[str]]) -> Checked:
    """Make baseline runs and later runs, and hold the later against the earlier."""

    def check(before: list[Run], after: list[Run], margins: Margins | None = None) -> Verdict:
        old = collect(logs(before), unaudited)
        (tmp_path / "baseline.json").write_text(to_json(make_baseline(old)), encoding="utf-8")
        new = collect(logs(after), unaudited, comparable=False)
        limits = margins or Margins(suite={"heldout_accuracy": 0.05})
        return check_runs(read_baseline(tmp_path / "baseline.json"), new, limits)

    return check


SCRIPT = Run(SCRIPTED, noise=False, accuracy=0.8)


def test_a_scripted_policy_that_reproduces_passes(checked: Checked) -> None:
    verdict = checked([SCRIPT], [SCRIPT])
    assert verdict.outcome is Outcome.PASS
    assert {c.what for c in verdict.checks} == {"every sample and metric is there", "reproduces exactly"}


def test_a_scripted_policy_made_worse_fails(checked: Checked) -> None:
    verdict = checked([SCRIPT], [Run(SCRIPTED, noise=False, accuracy=0.3)])
    assert verdict.outcome is Outcome.FAIL
    (change,) = [c for c in verdict.checks if c.outcome is Outcome.FAIL]
    assert "heldout_accuracy" in change.message


def test_a_scripted_policy_made_better_fails_too(checked: Checked) -> None:
    """A policy that changed needs a new baseline, whichever way it changed."""
    assert checked([SCRIPT], [Run(SCRIPTED, noise=False, accuracy=1.0)]).outcome is Outcome.FAIL


def test_two_noisy_epochs_are_inconclusive_and_say_how_many_would_do(checked: Checked) -> None:
    noisy = Run(MODEL_A, accuracy=0.6, epochs=6, seed=1)
    verdict = checked([noisy], [Run(MODEL_A, accuracy=0.6, epochs=2, seed=2)])
    assert verdict.outcome is Outcome.INCONCLUSIVE
    (open_check,) = [c for c in verdict.checks if c.outcome is Outcome.INCONCLUSIVE]
    assert "epochs" in open_check.message
    assert open_check.low is not None
    assert open_check.low < -0.05


def test_a_model_that_lost_much_fails(checked: Checked) -> None:
    verdict = checked([Run(MODEL_A, accuracy=1.0, epochs=3)], [Run(MODEL_A, accuracy=0.2, epochs=3)])
    assert verdict.outcome is Outcome.FAIL


def test_a_wide_margin_passes_and_each_task_can_have_its_own(checked: Checked) -> None:
    margins = Margins(suite={"heldout_accuracy": 0.6}, task={"heldout_interpolation": 0.9})
    runs = [Run(MODEL_A, accuracy=0.7, epochs=4), Run(MODEL_A, accuracy=0.7, epochs=4, task="mx")]
    verdict = checked(runs, runs, margins)
    assert verdict.outcome is Outcome.PASS
    assert sum("heldout_interpolation" in c.what for c in verdict.checks) == 2


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"task_version": "2-A"}, "task version: 1-A ≠ 2-A"),
        ({"reference_sha256": "c" * 64}, "reference set: bbbbbbbbbbbb… ≠ cccccccccccc…"),
        ({"potential": "mace"}, "potential: chgnet-0.3.0 ≠ mace"),
        ({"turn_limit": 10}, "turn limit: 150 ≠ 10"),
    ],
)
def test_other_conditions_are_refused(checked: Checked, about: dict[str, object], said: str) -> None:
    verdict = checked([SCRIPT], [Run(SCRIPTED, noise=False, accuracy=0.8, about=about)])
    assert verdict.outcome is Outcome.REFUSED
    assert said in next(c.message for c in verdict.checks if c.outcome is Outcome.REFUSED)


def test_other_rules_are_refused(checked: Checked) -> None:
    verdict = checked([SCRIPT], [Run(SCRIPTED, noise=False, accuracy=0.8, rules={"support_threshold": 0.85})])
    assert verdict.outcome is Outcome.REFUSED


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({}, {"auditor": "mockllm/b"}, "independent auditor: none ≠ mockllm/b"),
        ({"auditor": "mockllm/b"}, {}, "independent auditor: mockllm/b ≠ none"),
        ({"auditor": "mockllm/b"}, {"auditor": "mockllm/c"}, "independent auditor: mockllm/b ≠ mockllm/c"),
    ],
)
def test_runs_with_and_without_an_auditor_are_not_held_against_each_other(
    checked: Checked, before: dict[str, str], after: dict[str, str], said: str
) -> None:
    verdict = checked([replace(SCRIPT, roles=before)], [replace(SCRIPT, roles=after)])
    assert verdict.outcome is Outcome.REFUSED
    assert said in next(c.message for c in verdict.checks if c.outcome is Outcome.REFUSED)


def test_another_role_is_no_condition(checked: Checked) -> None:
    assert checked([SCRIPT], [replace(SCRIPT, roles={"critic": "mockllm/b"})]).outcome is Outcome.PASS


def test_other_tools_are_refused(logs: Callable[[list[Run]], list[str]]) -> None:
    found = collect(logs([SCRIPT]), unaudited)
    tools = {"relax_structure": "aa", "list_prototypes": "bb"}
    before = make_baseline(replace(found, runs=tuple(replace(run, tools=tools) for run in found.runs)))
    now = {"relax_structure": "cc", "query_database": "dd"}
    after = replace(found, runs=tuple(replace(run, tools=now) for run in found.runs))
    verdict = check_runs(before, after, Margins())
    assert verdict.outcome is Outcome.REFUSED
    message = next(c.message for c in verdict.checks if c.outcome is Outcome.REFUSED)
    assert "tools gone: list_prototypes" in message
    assert "tools new: query_database" in message
    assert "tools defined otherwise: relax_structure" in message


def test_what_is_missing_fails(checked: Checked) -> None:
    verdict = checked([SCRIPT, Run(MODEL_A)], [SCRIPT])
    assert verdict.outcome is Outcome.FAIL
    assert "no run of it in the logs" in {c.message for c in verdict.checks}


@pytest.mark.parametrize(("scored", "outcome"), [(1, Outcome.PASS), (2, Outcome.FAIL)])
def test_a_metric_is_missing_if_every_run_of_the_baseline_had_it(
    logs: Callable[[list[Run]], list[str]], scored: int, outcome: Outcome
) -> None:
    found = collect(logs([Run(MODEL_A, epochs=2, noise=False)]), unaudited)
    baseline = make_baseline(found)
    (entry,) = baseline.entries
    runs = [
        run.model_copy(update={"scores": {**run.scores, "a_new_metric": 0.9}}) if n < scored else run
        for n, run in enumerate(entry.runs)
    ]
    entries = (entry.model_copy(update={"runs": tuple(runs)}),)
    verdict = check_runs(baseline.model_copy(update={"entries": entries}), found, Margins(suite={}))
    assert verdict.outcome is outcome
    said = "metric missing: a_new_metric" in {check.message for check in verdict.checks}
    assert said is (outcome is Outcome.FAIL)


def test_a_baseline_of_other_tasks_is_refused(logs: Callable[[list[Run]], list[str]]) -> None:
    found = collect(logs([SCRIPT]), unaudited)
    kept = make_baseline(found)
    others = tuple(entry.model_copy(update={"task": "hepbench/other"}) for entry in kept.entries)
    verdict = check_runs(kept.model_copy(update={"entries": others}), found, Margins())
    assert verdict.outcome is Outcome.REFUSED
    assert verdict.checks[0].message == "the baseline has hepbench/other, the logs have hepbench/ao2"
    forged = (LeftOut(log="x", reason="a lie"),)
    also = check_runs(kept.model_copy(update={"entries": others}), replace(found, left_out=forged), Margins())
    assert "a lie" in {check.message for check in also.checks}


def test_what_was_not_run_is_noted_if_a_part_is_asked_for(logs: Callable[[list[Run]], list[str]]) -> None:
    both, one = collect(logs([SCRIPT, Run(MODEL_A)]), unaudited), collect(logs([SCRIPT]), unaudited)
    limits = Margins(suite={"heldout_accuracy": 0.05})
    verdict = check_runs(make_baseline(both), one, limits, partial=True)
    assert verdict.outcome is Outcome.PASS
    assert verdict.notes == (f"of the baseline, not run: {MODEL_A} · hep on hepbench/ao2",)
    nothing = collect(logs([Run(MODEL_A)]), unaudited)
    assert check_runs(make_baseline(one), nothing, limits, partial=True).outcome is Outcome.FAIL


def test_a_sample_that_fails_now_fails_the_gate(checked: Checked) -> None:
    verdict = checked([SCRIPT], [Run(SCRIPTED, noise=False, accuracy=0.8, fails=[1])])
    assert verdict.outcome is Outcome.FAIL
    assert any("1 of 1 samples failed" in c.message for c in verdict.checks)


def test_a_sample_that_failed_in_the_baseline_too_fails_the_gate(
    logs: Callable[[list[Run]], list[str]],
) -> None:
    failed = collect(logs([Run(MODEL_A, noise=False, fails=[1])]), unaudited)
    verdict = check_runs(make_baseline(failed), failed, Margins(suite={"heldout_accuracy": 0.05}))
    assert verdict.outcome is Outcome.FAIL
    assert any("1 of 1 samples failed" in c.message for c in verdict.checks)


def test_a_baseline_holds_no_sample_that_failed(
    logs: Callable[[list[Run]], list[str]], tmp_path: Path, no_audit: None
) -> None:
    output = tmp_path / "baseline.json"
    asked = ["baseline", *logs([SCRIPT, Run(MODEL_A, noise=False, fails=[1])]), "-o", str(output)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 1
    assert "1 of 2 samples failed" in done.output
    assert not output.exists()


def test_where_no_compound_differs_no_number_of_epochs_is_promised(checked: Checked) -> None:
    for epochs in (1, 3):
        runs = [Run(MODEL_A, epochs=epochs, noise=False)]
        verdict = checked(runs, runs, Margins(suite={"heldout_accuracy": 0.001}))
        (check,) = [c for c in verdict.checks if c.outcome is Outcome.INCONCLUSIVE]
        assert check.epochs_to_decide is None
        assert "no number of epochs would decide it" in check.message
        assert f"exclude no loss below {-check.low:.3g}" in check.message  # what more epochs do not lower


def test_many_passes_and_entries_that_were_not_run_take_a_line_each() -> None:
    def check(of: str, what: str, outcome: Outcome) -> Check:
        return Check(of=of, what=what, outcome=outcome, message="x")

    passes = [check(f"e{n}", "reproduces exactly", Outcome.PASS) for n in range(40)]
    missing = [check(f"m{n}", WAS_RUN, Outcome.FAIL) for n in range(20)]
    bad = check("e41", "reproduces exactly", Outcome.FAIL)
    verdict = Verdict(outcome=Outcome.FAIL, checks=(*passes, *missing, bad))
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(to_terminal(verdict))
    lines = console.export_text().splitlines()
    assert lines[0].startswith("FAIL (exit code 1)")
    assert lines[1].split()[:2] == ["FAIL", "e41"]
    assert "20 entries of the baseline: no run in the logs (m0; m1;" in lines[2]
    assert any("40 checks: reproduces exactly (40)" in line for line in lines[3:])
    assert len(lines) < 8
    root = ET.fromstring(to_junit(verdict))  # noqa: S314 - we wrote it
    assert len(root.findall(".//testcase")) == 61
    assert root.find("testsuite").get("name") == "hepbench check"  # type: ignore[union-attr]


def test_an_audit_finding_fails_the_gate(logs: Callable[[list[Run]], list[str]]) -> None:
    clean = collect(logs([SCRIPT]), unaudited)
    forged = collect(logs([SCRIPT]), saying(lambda where: ("event 3 was changed",)), comparable=False)
    verdict = check_runs(make_baseline(clean), forged, Margins())
    assert verdict.outcome is Outcome.FAIL
    assert any("event 3 was changed" in c.message for c in verdict.checks)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-0.04, 0.2, Outcome.PASS),
        (-0.05, 0.2, Outcome.INCONCLUSIVE),
        (-0.2, -0.05, Outcome.INCONCLUSIVE),
        (-0.2, -0.06, Outcome.FAIL),
        (float("nan"), float("nan"), Outcome.INCONCLUSIVE),
    ],
)
def test_the_rule_at_its_borders(low: float, high: float, outcome: Outcome) -> None:
    estimate = Estimate(value=0, low=low, high=high, se=0.1, df=5, items=12, clusters=6)
    assert decide(estimate, 0.05) is outcome


def test_every_form_says_the_same(
    logs: Callable[[list[Run]], list[str]], tmp_path: Path, no_audit: None
) -> None:
    baseline = tmp_path / "results" / "baseline.json"
    runner = CliRunner()
    assert runner.invoke(app, ["baseline", *logs([SCRIPT]), "-o", str(baseline)]).exit_code == 0
    for accuracy, version, code in ((0.8, "1-A", 0), (0.3, "1-A", 1), (0.8, "2-A", 3)):
        about = {} if version == "1-A" else {"task_version": version}
        later = logs([Run(SCRIPTED, noise=False, accuracy=accuracy, about=about)])
        files = {name: tmp_path / f"{name}-{code}" for name in ("junit", "json", "summary")}
        options = [part for name, path in files.items() for part in (f"--{name}", str(path))]
        done = runner.invoke(app, ["check", *later, "--baseline", str(baseline), *options])
        assert done.exit_code == code, done.output
        word = Outcome(code).name
        assert done.output.startswith(f"{word} (exit code {code})")
        assert json.loads(files["json"].read_text())["outcome"] == word
        assert f"{word} (exit code {code})" in files["summary"].read_text()
        root = ET.fromstring(files["junit"].read_text())  # noqa: S314 - we wrote it
        bad = int(root.get("failures", "0")) + int(root.get("errors", "0"))
        assert (bad > 0) == (code > 0)
        assert int(root.get("tests", "0")) == len(root.findall(".//testcase"))


def test_baselines_and_margins_that_cannot_be_used(suite_logs: Path, tmp_path: Path, no_audit: None) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"schema": "hepbench.baseline/1", "entries": [{}]}')
    done = CliRunner().invoke(app, ["check", str(suite_logs), "--baseline", str(bad)])
    assert done.exit_code == 4
    assert "entries.0" in done.output
    other_kind = json.loads(to_json(make_baseline(collect([str(suite_logs)], unaudited))))
    other_kind["entries"][0]["kind"] = "model"
    bad.write_text(json.dumps(other_kind))
    done = CliRunner().invoke(app, ["check", str(suite_logs), "--baseline", str(bad)])
    assert done.exit_code == 4
    assert ", not a model" in done.output
    good = tmp_path / "good.json"
    good.write_text('{"schema": "hepbench.baseline/1", "entries": []}')
    for text, said in (
        ("[suite]\nfame = 0.1", "unknown metric 'fame'"),
        ("[suite]\nbrier = -1", "a margin is a positive number"),
        ("[suite]\nheldout_accuracy = 5", "a share; five points are 0.05"),
        ("confidence = 0.9", "so nothing would be gated"),
        ("suite = 3", "suite"),
        ("[", "is not TOML"),
    ):
        margins = tmp_path / "margins.toml"
        margins.write_text(text)
        options = ["--baseline", str(good), "--margins", str(margins)]
        done = CliRunner().invoke(app, ["check", str(suite_logs), *options])
        assert done.exit_code == 4
        assert said in done.output


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["logs", "--basline", "x"], "No such option: --basline"),
        (["logs"], "Missing option '--baseline'"),
        (["--baseline", "x"], "Missing argument"),
        (["logs", "--baseline", "x", "--workers", "many"], "Invalid value for '--workers'"),
    ],
)
def test_a_mistake_on_the_command_line_is_no_verdict(asked: list[str], said: str) -> None:
    """2 is INCONCLUSIVE, which a workflow may let pass."""
    done = CliRunner().invoke(app, ["check", *asked])
    assert done.exit_code == 4
    assert done.stderr.startswith("hepbench check: ")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_baseline_from_logs_that_do_not_count(suite_logs: Path, tmp_path: Path, no_audit: None) -> None:
    done = CliRunner().invoke(app, ["baseline", str(suite_logs), "-o", str(tmp_path / "b.json")])
    assert done.exit_code == 1
    assert "laboratory budget" in done.output
    assert not (tmp_path / "b.json").exists()

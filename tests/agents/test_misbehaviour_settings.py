"""Settings of tools and tasks that keep a misbehaving model or provider from doing harm."""

from __future__ import annotations

import pytest
from inspect_ai.tool import ToolDef

from hepbench.harness.protocol.tools import registry_tools
from hepbench.tasks.a2bbo6 import a2bbo6
from hepbench.tasks.ao2 import ao2
from hepbench.tasks.mx import mx
from hepbench.tasks.suite import MAX_RETRIES


def test_parallel_calls_of_the_registry_are_carried_out_one_after_the_other() -> None:
    """Each operation is judged by the state that those before it left."""
    parallel = {(found := ToolDef(tool)).name: found.parallel for tool in registry_tools()}
    assert len(parallel) == 7
    assert not any(parallel.values()), parallel


@pytest.mark.parametrize("task", [a2bbo6, ao2, mx])
def test_a_provider_that_stays_down_is_not_asked_for_ever(task: object) -> None:
    assert callable(task)
    made = task()
    assert made.config.max_retries == MAX_RETRIES
    assert 0 < MAX_RETRIES <= 20

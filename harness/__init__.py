"""How an agent works: protocol, laboratory, agents, and the offline scripted policies.

For tasks of your own this package offers the HEP agent, its rivals, and the registry with its tools:

    from hepbench.harness import hep, registry_tools

They are imported when they are asked for: the protocol alone needs no agent.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hepbench.harness.agents.hep import hep
    from hepbench.harness.agents.planning import planning
    from hepbench.harness.agents.react import react
    from hepbench.harness.protocol.registry import Registry
    from hepbench.harness.protocol.rules import ProtocolRules
    from hepbench.harness.protocol.store import current_registry, start_registry
    from hepbench.harness.protocol.tools import registry_tools

__all__ = [
    "ProtocolRules",
    "Registry",
    "current_registry",
    "hep",
    "planning",
    "react",
    "registry_tools",
    "start_registry",
]

_HOME = {
    "ProtocolRules": "protocol.rules",
    "Registry": "protocol.registry",
    "current_registry": "protocol.store",
    "hep": "agents.hep",
    "planning": "agents.planning",
    "react": "agents.react",
    "registry_tools": "protocol.tools",
    "start_registry": "protocol.store",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)

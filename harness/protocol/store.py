"""The registry of a running sample: its events stand in the sample's store, and so in the eval log."""

from __future__ import annotations

from collections.abc import Mapping

from inspect_ai.util import StoreModel, store_as
from pydantic import BaseModel, Field, JsonValue, PrivateAttr

from hepbench.harness.protocol.durable import AUTO, journal_sink
from hepbench.harness.protocol.events import Event
from hepbench.harness.protocol.registry import Registry
from hepbench.harness.protocol.rules import ProtocolRules
from hepbench.harness.protocol.state import RunState, fold


class RegistryEvents(BaseModel):
    """The events. A nested plain model, because a store model copies its bare lists at every read."""

    events: list[Event] = Field(default_factory=list)
    journal: str = Field(default=AUTO, description="see durable.py")
    _registry: Registry | None = PrivateAttr(default=None)

    def registry(self) -> Registry | None:
        """The registry over these events, kept between calls so that it is not folded anew each time."""
        if self._registry is None and self.events:  # a store that was read back: the run is taken up again
            sink = journal_sink(self.journal, self.events)
            self._registry = Registry(self.events, self.events[0].run_id, sink=sink)
        return self._registry

    def start(
        self, run_id: str, rules: ProtocolRules, about: Mapping[str, JsonValue], journal: str = AUTO
    ) -> Registry:
        """Begin the run; what stood here before is an error.

        Raises:
            ValueError: the run has begun already.
            JournalError: a journal is required and cannot be made.
        """
        if self.events:
            raise ValueError("the run has begun already")
        self.journal = journal
        sink = journal_sink(journal)
        self._registry = Registry.start(run_id, rules, about, events=self.events, sink=sink)
        return self._registry


class RegistryStore(StoreModel):
    """Where a sample's events lie: `sample.store_as(RegistryStore)` reads them from a log."""

    run: RegistryEvents = Field(default_factory=RegistryEvents)

    def state(self) -> RunState:
        """The state that the events give."""
        return fold(self.run.events)


def start_registry(
    run_id: str, rules: ProtocolRules, about: Mapping[str, JsonValue], journal: str = AUTO
) -> Registry:
    """Begin the registry of the current sample.

    Raises:
        JournalError: a journal is required and cannot be made.
    """
    return store_as(RegistryStore).run.start(run_id, rules, about, journal)


def current_registry() -> Registry:
    """The registry of the current sample.

    Raises:
        LookupError: no run was started in this sample.
    """
    registry = store_as(RegistryStore).run.registry()
    if registry is None:
        raise LookupError("no registry in this sample: start_registry() comes first")
    return registry

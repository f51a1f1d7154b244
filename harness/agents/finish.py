"""The tool by which an agent ends its research."""

from __future__ import annotations

from dataclasses import dataclass

from inspect_ai.tool import Tool, tool

from hepbench.harness.protocol.registry import Registry
from hepbench.harness.text import clean


@dataclass
class Finish:
    """Whether the agent has ended its research, and whether it was reminded of open hypotheses."""

    registry: Registry
    finished: bool = False
    reminded: bool = False

    def open_hypotheses(self) -> str:
        """One sentence that names what is still open, or nothing."""
        names = [h.id for h in self.registry.state.hypotheses.values() if h.is_open]
        return f"Still open: {', '.join(names)}." if names else ""

    def ask(self) -> str:
        """Answer a wish to end: a reminder once when hypotheses are open, else the end."""
        still_open = self.open_hypotheses()
        if still_open and not self.reminded:
            self.reminded = True
            return (
                f"Not yet: {still_open} Judge each one (supported, refuted, or dormant when it stays "
                "between), then call finish_research again. This reminder comes once."
            )
        self.finished = True
        return "The research is over. The prediction phase follows."


def finish_tool(finish: Finish) -> Tool:
    """The `finish_research` tool over one run's `Finish`."""

    @tool(name="finish_research", parallel=False)
    def finish_research() -> Tool:
        async def execute(summary: str) -> str:
            """End the research phase. The laboratory closes, and the prediction phase begins.

            Args:
                summary: The rule that you found, in a few sentences.
            """
            answer = finish.ask()
            return answer if clean(summary) else f"{answer} (No summary was given.)"

        return execute

    return finish_research()

"""What `hepbench sweep` takes in the words of `inspect eval-set`, read and checked before a run starts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from inspect_ai.model import GenerateConfig, ModelRoles

GENERATE: Mapping[str, tuple[type, str, Mapping[str, Any]]] = {
    "temperature": (float, "Sampling temperature.", {"min": 0}),
    "top_p": (float, "Nucleus sampling.", {"min": 0, "max": 1}),
    "top_k": (int, "Sample among so many tokens.", {"min": 1}),
    "max_tokens": (int, "Tokens of one answer.", {"min": 1}),
    "seed": (int, "Seed, where the provider takes one.", {}),
    "reasoning_effort": (str, "none, minimal, low, medium, high, xhigh or max.", {}),
    "reasoning_tokens": (int, "Tokens of one reasoning.", {"min": 1}),
    "effort": (str, "Effort of an answer (Anthropic): low, medium, high, xhigh or max.", {}),
    "max_retries": (int, "Retries of one generation; default 10.", {"min": 0}),
    "timeout": (int, "Seconds for one generation with its retries.", {"min": 1}),
    "attempt_timeout": (int, "Seconds for one try.", {"min": 1}),
    "max_connections": (int, "Requests to one provider at a time.", {"min": 1}),
}
"""Inspect's generate options that are passed on: name → (type, help, bounds)."""


def with_generate_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command every option of `GENERATE`; those that were given arrive as its argument `generate`."""
    hints = get_type_hints(command, include_extras=True)
    own = [p for p in signature(command).parameters.values() if p.name != "generate"]
    parameters = [p.replace(annotation=hints[p.name], kind=Parameter.KEYWORD_ONLY) for p in own]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(name))
        for name in GENERATE
    ]

    def taking(**options: Any) -> None:
        generate = {name: options.pop(name) for name in GENERATE}
        command(**options, generate={k: v for k, v in generate.items() if v is not None})

    taking.__doc__ = command.__doc__
    taking.__annotations__ = {p.name: p.annotation for p in parameters}
    taking.__signature__ = Signature(parameters)  # type: ignore[attr-defined] # where Typer looks
    return taking


def _annotation(name: str) -> Any:
    kind, text, bounds = GENERATE[name]
    shown = {int: "N", float: "X", str: "WORD"}[kind]  # short: the option's name has to find room beside it
    return Annotated[
        kind | None, typer.Option(f"--{name.replace('_', '-')}", metavar=shown, help=text, **bounds)
    ]


def pairs(option: str, given: Sequence[str]) -> dict[str, Any]:
    """`name=value` pairs, read as Inspect reads them: the values as YAML.

    Raises:
        PrerequisiteError: one of them is no pair, or its value no YAML. No value is shown: it may be a key.
    """
    import yaml
    from inspect_ai._util.config import parse_cli_args
    from inspect_ai._util.error import PrerequisiteError

    found: dict[str, Any] = {}
    for one in given:
        name, equals, _ = one.partition("=")
        if not equals or not name:
            raise PrerequisiteError(f"{option} {name}: wants {option} name=value")
        try:
            found |= parse_cli_args([one])
        except (yaml.YAMLError, ValueError, RecursionError) as e:
            raise PrerequisiteError(f"{option} {name}: its value is not YAML") from e
    return found


def roles(given: Sequence[str]) -> ModelRoles:
    """Models by role.

    Raises:
        PrerequisiteError: one of them is no pair of a role that is asked for and a model that Inspect knows.
    """
    from inspect_ai._cli.util import parse_model_role_cli_args
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import Model, get_model

    from hepbench.harness.protocol.auditor import ROLE as AUDITOR
    from hepbench.scorers.steps import GRADER
    from hepbench.scorers.transfer import READER

    known = (AUDITOR, GRADER, READER)
    for role in pairs("--model-role", given):
        if role not in known:
            raise PrerequisiteError(
                f"--model-role {role}: there is no such role; there are {', '.join(known)}"
            )
    for one in given:
        try:
            for named in parse_model_role_cli_args((one,)).values():
                for model in named if isinstance(named, list) else [named]:
                    if not isinstance(model, str | Model):
                        raise PrerequisiteError(f"--model-role {one}: wants a model's name")
                    get_model(model)  # now, and not with the first task
        except (ValueError, TypeError) as e:
            raise PrerequisiteError(f"--model-role {one.partition('=')[0]}: {e}") from e
    return parse_model_role_cli_args(tuple(given))


def generate_config(given: Mapping[str, Any]) -> GenerateConfig:
    """The options of `GENERATE` as Inspect has them.

    Raises:
        PrerequisiteError: one of them has a value that Inspect does not know.
    """
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import GenerateConfig
    from pydantic import ValidationError

    try:
        return GenerateConfig(**given)
    except ValidationError as e:
        name = str(e.errors()[0]["loc"][0])
        wanted = f"--{name.replace('_', '-')} {given[name]}: {e.errors()[0]['msg']}"
        raise PrerequisiteError(wanted) from e


def samples(limit: str | None) -> int | tuple[int, int] | None:
    """`--limit`: how many samples of each task, or which.

    Raises:
        PrerequisiteError: it is neither "10" nor "10-20".
    """
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai._util.samples import parse_samples_limit

    if limit is not None and not re.fullmatch(r"[1-9]\d{0,8}(-[1-9]\d{0,8})?", limit):
        raise PrerequisiteError(f"--limit {limit}: wants a number of samples, or a range such as 10-20")
    return parse_samples_limit(limit)


def one_line(message: object) -> str:
    """A message of Inspect's, without its markup for the terminal, in one line."""
    plain = re.sub(r"\[/?(?:bold|italic|blue|red|green|yellow|dim)[a-z ]*\]", "", str(message))
    return " ".join(plain.split()).removeprefix("ERROR: ")

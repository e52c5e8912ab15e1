"""`redtogreen`: puts the command groups together, runs one, and turns every end into an exit code.

0 success, 1 what was checked does not hold, 2 usage error, 3 this machine cannot do it, 130 Ctrl-C.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from redtogreen.cli import attempts, chain, datasets, grading, lists, reading, redteam, rewards, sandboxes, tasks
from redtogreen.cli.failures import report, unknown_command
from redtogreen.cli.output import say

ORDER = (
    *("demo", "run", "sources", "tasks", "collect", "evaluate", "grade", "score", "recipe", "clean", "dataset"),
    *("export", "show", "report", "replay", "branch", "exec", "shell", "doctor", "redteam", "gc", "list"),
)
"""Order of the commands in the help: that of the chain."""


class Group(TyperGroup):
    """A group that names the nearest command when it does not know one, and keeps the order of the chain."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise unknown_command(args[0], self.list_commands(ctx), ctx.command_path)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        names = list(self.commands)
        return sorted(names, key=ORDER.index) if "demo" in names else names


def build_app() -> typer.Typer:
    """The whole command tree."""
    app = _group("Turn code repositories into trustworthy reinforcement-learning data for coding agents.")

    @app.callback()
    def options(
        version: Annotated[
            bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
        ] = False,
    ) -> None:
        """Turn code repositories into trustworthy reinforcement-learning data for coding agents."""

    chain.add_to(app)
    app.add_typer(tasks.build(_group), name="tasks")
    attempts.add_to(app)
    grading.add_to(app)
    rewards.add_to(app, _group)
    datasets.add_to(app, _group)
    reading.add_to(app)
    sandboxes.add_to(app)
    redteam.add_to(app)
    lists.add_to(app)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command line and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    warnings.showwarning = lambda message, *_: say(f"warning: {message}")
    try:
        code = _run(words)
        sys.stdout.flush()
    except SystemExit:
        raise
    except BaseException as error:
        code = report(error, "--json" in words[: words.index("--") if "--" in words else None])
    sys.exit(code)


def _run(words: list[str]) -> int:
    if not words:
        words = ["--help"]
    try:
        result = typer.main.get_command(build_app()).main(args=words, prog_name="redtogreen", standalone_mode=False)
    except typer.Exit as leave:
        return leave.exit_code
    return result if isinstance(result, int) else 0


def _group(help_text: str) -> typer.Typer:
    return typer.Typer(
        cls=Group,
        help=help_text,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=False,
        context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 110},
    )


def _version(asked: bool) -> None:
    if asked:
        from redtogreen import __version__

        typer.echo(f"redtogreen {__version__}")
        raise typer.Exit


if __name__ == "__main__":
    main()

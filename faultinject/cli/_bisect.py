"""``faultinject bisect``: the first of several versions in which a case is judged otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from faultinject.cli._options import takes_sweep_options
from faultinject.errors import UsageError

if TYPE_CHECKING:
    from faultinject.reports import Report


@takes_sweep_options()
def bisect(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="What to sweep in a virtual environment.")],
    *,
    versions: Annotated[
        str,
        typer.Option(
            "--versions",
            help="Comma-separated, the oldest first: reports, or virtual environments (or their pythons).",
        ),
    ],
    case: Annotated[str, typer.Option("--case", help="Id of the case, of the newest version or the oldest.")],
    **given: Any,
) -> None:
    """Name the first version in which a case of TARGET is judged other than in the oldest.

    As few versions as possible are swept, by halving, with the options given
    here, and the phase, the fault and the level of the case once it is known.

    Exit status:
      0  a version was found
      1  the verdict is the same in every version
      2  something is wrong with the request, a report or the target

    Example: faultinject bisect acme:Client --versions venv-1.0,venv-1.1,venv-2.0 --case 6cf1a83d
    """
    from faultinject.cli._options import make_options
    from faultinject.cli._versions import report_of
    from faultinject.gate import Trail
    from faultinject.reports import make_console, safe

    names = tuple(name.strip() for name in versions.split(",") if name.strip())
    if len(names) < 2:
        raise UsageError(f"--versions names {len(names)}: give two or more, with commas between them")
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice:
        raise UsageError(f"--versions names {twice} twice")
    make_options(target, **given)

    def report_at(place: int, enough: Mapping[str, Any]) -> Report:
        return report_of(names[place], target, {**given, **enough})

    trail = Trail(names, report_at, case)
    found = trail.follow()
    console = make_console()

    def say(text: str, style: str = "") -> None:
        console.print(safe(text, style), soft_wrap=not console.is_terminal)

    say(trail.title, "bold")
    for place in range(len(names)):
        say(f"  {trail.version(place)}: {trail.words.get(place, 'not looked at')}")
    if found is None:
        say(f"It is {trail.words[0]} in every version.", "bold")
        raise typer.Exit(1)
    say(
        f"It is {found.is_now} since {trail.version(found.first)}, and was {found.was} up to "
        f"{trail.version(found.last)}.",
        "bold",
    )

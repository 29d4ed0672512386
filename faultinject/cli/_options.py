"""The options that commands share, and what is made of them.

`make_options` is the one place for an option of a sweep: a parameter of it is an option of every command
that is decorated with `takes_sweep_options`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast, get_args, get_type_hints

import typer

from faultinject.cli import _completion
from faultinject.errors import UsageError

if TYPE_CHECKING:
    from faultinject.sweep import Options

NONE: list[str] = []
MOST: Final = 1_000_000_000
"""Any number that is given: more than anything has, and within what every part can hold."""

Command = Callable[..., None]

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        autocompletion=_completion.targets,
        help="module:callable, a table of \\[tool.faultinject.targets], or a built-in such as "
        "vllm:EngineCore.",
    ),
]
ReleaseOption = Annotated[
    str, typer.Option(help="Method of the result, or module:function, that gives it back.")
]
OwnOption = Annotated[
    list[str],
    typer.Option("--own", help="Glob of module:qualname: a frame of the target's own beside the outermost."),
]
LevelOption = Annotated[
    str,
    typer.Option(
        autocompletion=_completion.levels,
        help="How fine: steps, sites, stacks, opcodes, nth; milestones.",
        show_default="steps; milestones for a built-in tree of processes",
    ),
]
DepthOption = Annotated[
    int, typer.Option(min=1, max=MOST, help="Frames that tell two stacks apart, at level stacks.")
]
FaultOption = Annotated[
    str,
    typer.Option(
        "--fault",
        autocompletion=_completion.faults,
        help="Comma-separated faults; `faultinject faults` lists them.",
    ),
]
PhaseOption = Annotated[
    str, typer.Option("--phases", autocompletion=_completion.phases, help="before, after, or both.")
]
RunnerOption = Annotated[
    str, typer.Option(autocompletion=_completion.runners, help="auto, fork, zygote or spawn.")
]
JobsOption = Annotated[
    int, typer.Option("--jobs", "-j", min=0, max=MOST, help="Cases at a time; 0 for one a core.")
]
ModuleOption = Annotated[list[str], typer.Option(help="Only points in this module (or glob).")]
NoModuleOption = Annotated[
    list[str], typer.Option("--exclude-module", help="No points in this module (or glob).")
]
NameOption = Annotated[list[str], typer.Option(help="Only points with this qualified name (or glob).")]
NoNameOption = Annotated[
    list[str], typer.Option("--exclude-name", help="No points with this qualified name.")
]
HasOption = Annotated[
    list[str], typer.Option("--stack-has", help="Only points whose stack holds this frame.")
]
LacksOption = Annotated[
    list[str], typer.Option("--stack-lacks", help="Only points whose stack lacks this frame.")
]
FinalizerOption = Annotated[
    bool, typer.Option("--finalizers", help="Also points in __del__ and weakref callbacks.")
]
CleanupOption = Annotated[
    bool, typer.Option("--cleanup", help="Also calls that release or register a release.")
]
LimitOption = Annotated[
    float, typer.Option("--time-limit", min=0, max=MOST, help="Seconds a case may take; 0 to derive it.")
]
SettleOption = Annotated[
    float, typer.Option(min=0, max=MOST, help="Seconds in which threads and processes may still end.")
]
DeadlineOption = Annotated[float, typer.Option(min=0, max=MOST, help="Seconds a clean-up may take.")]
BackendOption = Annotated[
    str, typer.Option(help="setprofile, monitoring or patching; the interpreter's own if empty.")
]
PatchOption = Annotated[
    list[str], typer.Option("--patch", help="module:qualname to wrap, for the patching backend.")
]
ProbeOption = Annotated[
    list[str],
    typer.Option("--probe", autocompletion=_completion.probes, help="Look only through this probe."),
]
NoProbeOption = Annotated[
    list[str],
    typer.Option("--without-probe", autocompletion=_completion.probes, help="Leave out this probe."),
]
IgnoreOption = Annotated[list[str], typer.Option(help="probe:key globs that are not the target's.")]
SampleOption = Annotated[
    int, typer.Option("--sample", min=0, max=MOST, help="At most this many points; 0 for all.")
]
SeedOption = Annotated[int, typer.Option(min=0, max=MOST, help="Seed of the sample.")]
TimesOption = Annotated[
    int, typer.Option(min=0, max=MOST, help="1: once; k: k times, then it recovers; 0: for ever.")
]
SecondOption = Annotated[
    bool, typer.Option("--second", help="Also fail each release of the clean-up, for each case.")
]
SecondFaultsOption = Annotated[
    str, typer.Option("--second-faults", help="What happens to a release: faults, or hang.")
]
DirectoryOption = Annotated[
    Path, typer.Option("--directory", "-C", help="Where pyproject.toml and modules are.")
]
ConfirmOption = Annotated[
    str,
    typer.Option(
        autocompletion=_completion.confirmations,
        help="What of a fork screen to confirm: auto, each, class, none.",
    ),
]
RepeatsOption = Annotated[
    int, typer.Option(min=1, max=5, help="Agreeing runs, of five, before a verdict accuses.")
]
MatricesOption = Annotated[Path | None, typer.Option(help="Folder with a declared ownership table to use.")]
ReportOption = Annotated[
    list[str],
    typer.Option(
        "--report",
        autocompletion=_completion.formats,
        help="Also write FORMAT:FILE; json, html, junit, sarif, markdown or github.",
    ),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print the last sentence only.")]
VerboseOption = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print each case as it ends, and what each stage took.")
]
ExitZeroOption = Annotated[bool, typer.Option("--exit-zero", help="Exit 0 although there are violations.")]


def make_options(
    target: str,
    *,
    release: ReleaseOption = "",
    own: OwnOption = NONE,
    level: LevelOption = "",
    depth: DepthOption = 4,
    fault: FaultOption = "RuntimeError,KeyboardInterrupt",
    times: TimesOption = 1,
    second: SecondOption = False,
    second_faults: SecondFaultsOption = "RuntimeError,KeyboardInterrupt,hang",
    phases: PhaseOption = "before,after",
    module: ModuleOption = NONE,
    exclude_module: NoModuleOption = NONE,
    name: NameOption = NONE,
    exclude_name: NoNameOption = NONE,
    stack_has: HasOption = NONE,
    stack_lacks: LacksOption = NONE,
    finalizers: FinalizerOption = False,
    cleanup: CleanupOption = False,
    runner: RunnerOption = "auto",
    confirm: ConfirmOption = "auto",
    repeats: RepeatsOption = 3,
    jobs: JobsOption = 0,
    time_limit: LimitOption = 0.0,
    settle: SettleOption = 0.5,
    deadline: DeadlineOption = 5.0,
    backend: BackendOption = "",
    patch: PatchOption = NONE,
    probe: ProbeOption = NONE,
    without_probe: NoProbeOption = NONE,
    ignore: IgnoreOption = NONE,
    sample: SampleOption = 0,
    seed: SeedOption = 0,
    directory: DirectoryOption = Path(),
) -> Options:
    """The sweep that was asked for on the command line.

    Raises:
        UsageError: what can be seen to be wrong before the target is looked at.
    """
    from faultinject.faults import parse_second_faults
    from faultinject.filters import PointFilter
    from faultinject.points import parse_level, parse_phases
    from faultinject.sweep import Options
    from faultinject.sweep._options import Confirm, Runner
    from faultinject.targets import TargetSpec

    wanted = parse_phases(phases)
    point_filter = PointFilter(
        modules=tuple(module),
        exclude_modules=tuple(exclude_module),
        names=tuple(name),
        exclude_names=tuple(exclude_name),
        stack_has=tuple(stack_has),
        stack_lacks=tuple(stack_lacks),
        phases=wanted if len(wanted) < 2 else (),
    )
    _check_choice("runner", runner, get_args(Runner))
    _check_choice("--confirm", confirm, get_args(Confirm))
    chosen_level = parse_level(level or _level_of(target))
    faults = _faults(fault) if chosen_level != "milestones" else _faults_of_trees(fault)
    _check_ignored(ignore)
    _check_probes((*probe, *without_probe))
    return Options(
        target=TargetSpec(target, release, str(directory), _globs_of_own(own)),
        level=chosen_level,
        depth=depth,
        faults=faults,
        times=times,
        second=second,
        second_faults=parse_second_faults(second_faults),
        filter=point_filter,
        runner=cast(Runner, runner),
        confirm=cast(Confirm, confirm),
        jobs=jobs,
        repeats=repeats,
        time_limit=time_limit,
        settle=settle,
        deadline=deadline,
        backend=backend,
        attributes=tuple(patch),
        include_finalizers=finalizers,
        include_cleanup=cleanup,
        probes=tuple(probe),
        without=tuple(without_probe),
        ignore=tuple(ignore),
        limit=sample,
        seed=seed,
    )


def with_matrices(options: Options, matrices: Path | None) -> Options:
    """The same with the folder of a declared ownership table, if one is given."""
    import msgspec

    return msgspec.structs.replace(options, matrices=str(matrices)) if matrices is not None else options


def takes_sweep_options(*, without: Sequence[str] = ()) -> Callable[[Command], Command]:
    """Give a command the options of `make_options`, in the place of its ``**given``.

    They come after its arguments and before its own options. Typer reads the signature, and the hints from
    the annotations.

    Args:
        without: parameters that the command has no use for.
    """

    def given_to(command: Command) -> Command:
        own = inspect.signature(command).parameters
        shared = dict(inspect.signature(make_options).parameters)
        for name in ("target", *without):
            del shared[name]
        # What `make_options` returns is imported only where types are checked.
        hints = get_type_hints(make_options, localns={"Options": Any}, include_extras=True)
        hints |= get_type_hints(command, include_extras=True)
        parameters = {
            name: parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
            for name, parameter in [
                *((name, p) for name, p in own.items() if p.kind is p.POSITIONAL_OR_KEYWORD),
                *shared.items(),
                *((name, p) for name, p in own.items() if p.kind is p.KEYWORD_ONLY),
            ]
        }
        described = cast(Any, command)
        described.__signature__ = inspect.Signature(list(parameters.values()))
        described.__annotations__ = {name: hints[name] for name in parameters} | {"return": None}
        return command

    return given_to


def check_loudness(*, quiet: bool, verbose: bool) -> None:
    """See that not both were asked for.

    Raises:
        UsageError: they were.
    """
    if quiet and verbose:
        raise UsageError("--quiet and --verbose contradict each other: give one of them")


def _check_choice(what: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise UsageError(f"unknown {what} {given!r}: choose one of {', '.join(choices)}")


def _level_of(target: str) -> str:
    """The level of a target that was asked for without one."""
    from faultinject.targets._builtin import is_tree

    return "milestones" if is_tree(target) else "steps"


def _faults(wanted: str) -> tuple[str, ...]:
    from faultinject.faults import parse_fault

    names = tuple(dict.fromkeys(name.strip() for name in wanted.split(",") if name.strip()))
    if not names:
        raise UsageError("--fault names no fault; `faultinject faults` lists them")
    for name in names:
        # Others are looked up beside the target.
        if "." not in name and not (":" in name and not name.startswith("OSError:")):
            parse_fault(name)
    return names


def _faults_of_trees(wanted: str) -> tuple[str, ...]:
    from faultinject.trees import parse_tree_faults

    return parse_tree_faults(wanted)


def _globs_of_own(globs: list[str]) -> tuple[str, ...]:
    for glob in globs:
        if not glob.strip():
            raise UsageError("--own is empty: give a glob of module:qualname, such as mypackage.base:*")
    return tuple(glob.strip() for glob in globs)


def _check_ignored(globs: list[str]) -> None:
    for glob in globs:
        if ":" not in glob:
            raise UsageError(
                f"--ignore {glob}: write it as probe:key, such as fds:*; `faultinject probes` lists probes"
            )


def _check_probes(names: tuple[str, ...]) -> None:
    if names:
        from faultinject.probes import load_probes

        load_probes(names)

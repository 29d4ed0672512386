"""``faultinject faults`` and ``faultinject probes``: what there is to choose from."""

from __future__ import annotations


def faults() -> None:
    """List the faults that --fault takes.

    Example: faultinject faults
    """
    from faultinject.faults import describe
    from faultinject.reports import make_console

    console = make_console()
    for entry in describe():
        console.print(f"{entry.name:28} {entry.group:9} {entry.summary}", markup=False, highlight=False)


def probes() -> None:
    """List the probes, and which of them cannot look here.

    Example: faultinject probes
    """
    from faultinject.probes import load_probes
    from faultinject.reports import make_console

    console = make_console()
    for probe in load_probes():
        why = probe.unavailable()
        console.print(
            f"{probe.name:20} {probe.nature:9} {probe.cost:7} {f'absent: {why}' if why else ''}".rstrip(),
            markup=False, highlight=False,
        )  # fmt: skip

"""The command line: a thin layer over the flow."""

from __future__ import annotations

from faultinject.cli import (
    _bisect,
    _catalogues,
    _compare,
    _diff,
    _discover,
    _gate,
    _lifecycle,
    _matrix,
    _replay,
    _report,
    _sweep,
)
from faultinject.cli._app import app
from faultinject.cli._main import main

__all__ = ["app", "main"]

app.command()(_sweep.sweep)
app.command()(_compare.compare)
app.command()(_diff.diff)
app.command()(_bisect.bisect)
app.command()(_discover.discover)
app.command()(_gate.gate)
app.command()(_lifecycle.lifecycle)
app.command()(_matrix.matrix)
app.command()(_replay.replay)
app.command()(_report.report)
app.command()(_catalogues.faults)
app.command()(_catalogues.probes)

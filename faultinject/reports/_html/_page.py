"""The page: one file with everything in it, which asks nothing of any network.

The template escapes all that comes from a report. Should anything ever get past it, the page's own policy
still lets nothing run but its one script, which is named there by its digest, and lets nothing be loaded.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Final

import msgspec

from faultinject.reports._gated import gate_sentence
from faultinject.reports._html._data import sweep_data
from faultinject.reports._html._view import SweepView, mood_of, sweep_view
from faultinject.reports._suite import Suite

if TYPE_CHECKING:
    import jinja2

_POLICY: Final = (
    "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; "
    "form-action 'none'"
)
_NO_MARKUP: Final = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)
"""Within JSON these stand in strings only, where an escape means the same."""


def render_html(suites: Sequence[Suite]) -> str:
    """A page of one or more sweeps.

    It holds every case: a matrix as a heat map, filters, and for each case what was acquired, the fault, what
    was released and what was left.
    """
    data = msgspec.json.encode([sweep_data(suite) for suite in suites]).decode()
    alone = len(suites) == 1
    return _render(
        data.translate(_NO_MARKUP), [sweep_view(suite, alone=alone) for suite in suites], _gate(suites)
    )


def _gate(suites: Sequence[Suite]) -> tuple[str, str] | None:
    """Mood and sentence of a gate of several sweeps."""
    if len(suites) < 2 or not any(suite.ruling for suite in suites):
        return None
    status, sentence = gate_sentence(suites)
    return mood_of(status), sentence.replace("`", "")


def _render(data: str, sweeps: Sequence[SweepView], gate: tuple[str, str] | None) -> str:
    # Only who asks for a page waits for it to be imported.
    from markupsafe import Markup

    style, script = _part("page.css"), _part("page.js")
    return _template().render(
        policy=_POLICY.format(style=_digest(style), script=_digest(script)),
        style=Markup(style),
        script=Markup(script),
        data=Markup(data),
        sweeps=sweeps,
        gate=gate,
    )


@functools.cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_part("page.html.jinja"))


@functools.cache
def _part(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

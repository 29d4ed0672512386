"""The report as one page for a browser."""

from __future__ import annotations

from faultinject.reports._html._page import render_html

__all__ = ["render_html"]

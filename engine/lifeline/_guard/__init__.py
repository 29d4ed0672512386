"""The guardian: a program of its own that ends the descendants of processes that have died.

Run as ``python -I -S .../_guard``. Standard library only, and as little of it as can be: neither `json`,
`typing` nor `dataclasses`, each of which costs as much as the rest of the start.
"""

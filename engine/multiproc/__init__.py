"""The executor with worker processes: what it starts, makes and maps, and how each is given back.

Installed by `engine.harden` together with the rest; there is nothing here to call.
"""

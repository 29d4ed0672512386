"""The engine in a process of its own, and the launcher that starts it and waits for it.

Installed by `engine.harden` together with the rest; there is nothing here to call.
"""

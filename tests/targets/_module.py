"""The text of a module that the tests of targets resolve names in."""

MODULE = """
class Plain:
    def __init__(self):
        self.open = True

    def close(self):
        self.open = False

    def method(self):
        return self

    @classmethod
    def build(cls):
        return cls()

    @staticmethod
    def free():
        return "free"

    class Inner:
        pass


class Child(Plain):
    pass


class Needs:
    def __init__(self, size, *, colour, depth=1):
        self.size, self.colour, self.depth = size, colour, depth

    def __enter__(self):
        return self


class Context:
    made = 0

    def __init__(self):
        type(self).made += 1

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    async def __aenter__(self):
        return self


class AsyncCallable:
    async def __call__(self):
        return 1


def factory():
    return Plain()


async def coroutine():
    return Plain()


def fresh():
    return []


instance = Context()
async_callable = AsyncCallable()
number = 7
"""

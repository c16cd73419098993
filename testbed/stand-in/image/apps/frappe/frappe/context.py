"""TEST CODE: what belongs to one thread, and names that lead to it. A process of a Job starts in half the time without werkzeug."""

import threading


class Local(threading.local):
    """Values of this thread."""


class LocalProxy:
    """Stands for what a function returns at each use."""

    def __init__(self, find):
        object.__setattr__(self, "_find", find)

    def __getattr__(self, name):
        return getattr(object.__getattribute__(self, "_find")(), name)

    def __setattr__(self, name, value):
        setattr(object.__getattribute__(self, "_find")(), name, value)

    def __bool__(self):
        return bool(object.__getattribute__(self, "_find")())


def _forwarded(name):
    def method(self, *args):
        return getattr(object.__getattribute__(self, "_find")(), name)(*args)

    return method


for _name in ("contains", "delitem", "eq", "getitem", "iter", "len", "repr", "setitem", "str"):
    setattr(LocalProxy, f"__{_name}__", _forwarded(f"__{_name}__"))

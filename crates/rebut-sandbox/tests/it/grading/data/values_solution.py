"""Code with everything that can cross between two processes."""
import functools, enum, dataclasses, collections, asyncio
from typing import NamedTuple
def add(a: int, b: int = 2) -> int:
    """Adds."""
    print("adding"); return a+b
def srt(x): x.sort()
def apply(f, xs): return [f(x) for x in xs]
class MyError(ValueError):
    def __init__(self, code): super().__init__("bad %s" % code); self.code=code
def boom(): raise MyError(7)
def key(): return {}["x"]
class Stack:
    size = 3
    def __init__(self): self.items=[]
    def push(self,x): self.items.append(x); return self
    def pop(self):
        if not self.items: raise IndexError("empty")
        return self.items.pop()
    def __len__(self): return len(self.items)
    def __contains__(self,x): return x in self.items
    def __iter__(self): return iter(self.items)
    @classmethod
    def of(cls,*a):
        s=cls(); s.items=list(a); return s
class Color(enum.Enum): RED=1; BLUE=2
class Num(enum.IntEnum): ONE=1
@dataclasses.dataclass
class P:
    x:int; y:int=0
class NT(NamedTuple):
    a:int; b:int
class V:
    def __init__(s,x): s.x=x
    def __add__(s,o): return V(s.x+o.x)
    def __mul__(s,k): return V(s.x*k)
    def __eq__(s,o): return s.x==o.x
    def __repr__(s): return f"V({s.x})"
def gen(n):
    for i in range(n): yield i
async def later(x): await asyncio.sleep(0); return x*2
class LRU(collections.OrderedDict):
    def get(self,k): return super().get(k,-1)
    def put(self,k,v): self[k]=v
@functools.lru_cache(None)
def fib(n): return n if n<2 else fib(n-1)+fib(n-2)
def ask(): return input("name? ")
def cm():
    import contextlib
    @contextlib.contextmanager
    def c(): yield 5
    return c()
def bigs(): return {1:(1,2),(1,2):{3},"x":b"a", None: 10**5000, "f": float("inf"), "fs": frozenset([1]), "D": __import__("decimal").Decimal("1.5")}

class Node:
    def __init__(self, value, next=None):
        self.value, self.next = value, next
def link(node):
    node.next = Node(2)
    return node
def total(numbers):
    return sum(numbers)
def rotate(matrix):
    matrix[0], matrix[1] = matrix[1], matrix[0]
def twice(data):
    data["list"].append(1)
    return data
def alias(a, b):
    a.append(1)
    return a is b
def read_all():
    import sys
    return sys.stdin.read()
def counts(text):
    return collections.Counter(text)
def bad_json():
    import json
    json.loads("{")
def leave():
    raise SystemExit(3)
def chain():
    try:
        1 / 0
    except ZeroDivisionError as error:
        raise RuntimeError("outer") from error
async def call_later(callback):
    return await callback(2)
class Account:
    def __init__(self): self._balance = 0
    @property
    def balance(self): return self._balance
    @balance.setter
    def balance(self, value):
        if value < 0: raise ValueError("too little")
        self._balance = value
def compose(*functions):
    return lambda value: functools.reduce(lambda held, function: function(held), functions, value)

"""What crosses: each line must hold."""
import solution, inspect, asyncio
assert add(1) == 3
assert add(1, b=5) == 6
xs=[3,1,2]
srt(xs)
assert xs == [1,2,3]
assert apply(lambda v: v*2, [1,2]) == [2,4]
try:
    boom()
except ValueError as e:
    got = e
assert got.code == 7 and str(got) == "bad 7" and isinstance(got, MyError) and isinstance(got, ValueError)
try: key()
except KeyError as e: k=e
assert k.args == ("x",)
s = Stack()
assert len(s.push(1).push("a")) == 2 and s.pop() == "a" and 1 in s and list(s)==[1] and Stack.size == 3
assert len(Stack.of(1,2)) == 2 and 2 in Stack.of(1,2)
assert Color.RED.value == 1 and Color.RED is Color.RED and Color(1) == Color.RED and [c.name for c in Color]==["RED","BLUE"] and Color["RED"] != Color.BLUE
assert Num.ONE == 1 and Num.ONE.name == "ONE" and isinstance(Num.ONE, int)
assert P(1,2) == P(1,2) and P(1).y == 0 and repr(P(1)) == "P(x=1, y=0)"
import dataclasses
assert dataclasses.asdict(P(1)) == {"x":1,"y":0} and dataclasses.is_dataclass(P(1))
assert NT(1,2) == (1,2) and NT(1,2).b == 2 and isinstance(NT(1,2), NT) and NT(1,2)._asdict()=={"a":1,"b":2}
assert V(1)+V(2) == V(3) and (V(1)*2)*3 == V(6)
assert list(gen(4)) == [0,1,2,3] and inspect.isgenerator(gen(1)) and next(gen(1))==0
assert asyncio.run(later(4)) == 8 and inspect.iscoroutinefunction(later)
c = LRU(); c.put(1,5)
assert c.get(1) == 5 and c.get(2) == -1 and c == {1:5} and len(c)==1
assert fib(20) == 6765 and fib.cache_info().misses == 21
assert str(inspect.signature(add)) == "(a: int, b: int = 2)" and add.__name__ == "add" and add.__doc__ == "Adds."
import unittest.mock as m
with m.patch("builtins.input", return_value="bob"):
    r = ask()
assert r == "bob"
with m.patch("solution.add", return_value=9) as a: r2 = solution.add(1,2)
assert r2 == 9 and solution.add(1,1)==2
with cm() as five: pass
assert five == 5
assert bigs() == {1:(1,2),(1,2):{3},"x":b"a", None: 10**5000, "f": float("inf"), "fs": frozenset([1]), "D": __import__("decimal").Decimal("1.5")}
assert not V(1) == 5 and V(1) != 5
assert type(s).__name__ == "Stack" and isinstance(s, Stack) and not isinstance(s, P) and callable(s.push)
s.items = [9]
assert s.items == [9] and s.__dict__ == {"items":[9]} and hasattr(s,"pop") and not hasattr(s,"zzz")
print("hello")

class Own:
    def __init__(self): self.next = None
assert link(Own()).next.value == 2
own = Own()
same = link(own)
assert same is own
assert total(x for x in [1, 2, 3]) == 6
grid = [[1, 2], [3, 4]]
first = grid[0]
rotate(grid)
assert grid == [[3, 4], [1, 2]] and grid[1] is first
held = {"list": []}
assert twice(held) == {"list": [1]} and held["list"] == [1]
shared = []
assert alias(shared, shared) and shared == [1] and not alias([], [])
import io, sys
with m.patch("sys.stdin", io.StringIO("one\ntwo")):
    read = read_all()
assert read == "one\ntwo"
assert counts("aab").most_common(1) == [("a", 2)]
import json
def raised(what, kind):
    try: what()
    except kind as error: return error
    raise AssertionError("nothing was raised")
assert raised(bad_json, json.JSONDecodeError)
assert raised(leave, SystemExit).code == 3
assert isinstance(raised(chain, RuntimeError).__cause__, ZeroDivisionError)
async def doubled(value): return value * 2
assert asyncio.run(call_later(doubled)) == 4
account = Account()
account.balance = 5
assert account.balance == 5 and raised(lambda: setattr(account, "balance", -1), ValueError)
assert compose(lambda x: x + 1, str)(1) == "2"
import copy
assert copy.deepcopy(P(1, 2)) == P(1, 2) and copy.copy(s) is not s
def explode(x): raise LookupError("from the tests")
assert str(raised(lambda: apply(explode, [1]), LookupError)) == "from the tests"

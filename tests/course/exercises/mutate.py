"""Wrong answers made from right ones: their source, with one place changed at a time."""

import ast
import copy
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

CONFUSED = [  # names that people mistake for one another
    ("min", "max"),
    ("amin", "amax"),
    ("argmin", "argmax"),
    ("minimum", "maximum"),
    ("sum", "mean"),
    ("sin", "cos"),
    ("exp", "exp2"),
    ("log", "log2"),
    ("log", "log10"),
    ("log", "log1p"),
    ("all", "any"),
    ("tril", "triu"),
    ("sorted", "list"),
    ("reversed", "list"),
    ("stdev", "pstdev"),
    ("median", "fmean"),
    ("repeat", "repeat_interleave"),
    ("zeros", "ones"),
    ("combinations", "permutations"),
    ("Counter", "dict.fromkeys"),
    ("masked_fill", "masked_fill_"),
    ("clamp", "abs"),
    ("floor", "ceil"),
    ("cat", "stack"),
    ("arange", "ones"),
    ("long", "int8"),
    ("float", "half"),
    ("sample", "choices"),
    ("randrange", "int"),
    ("comb", "perm"),
    ("eye", "zeros"),
]
OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.Mod: (ast.FloorDiv,),
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq, ast.LtE),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}


def like(node: Any, **changes: Any) -> Any:
    """Return a copy of a node with some fields changed."""
    changed = copy.copy(node)
    for field, value in changes.items():
        setattr(changed, field, value)
    return changed


def without(nodes: list[Any], number: int) -> list[Any]:
    return nodes[:number] + nodes[number + 1 :]


def renamed(name: str) -> Iterator[str]:
    """Yield the names that somebody may write in place of this one."""
    for pair in CONFUSED:
        if name in pair:
            yield pair[1 - pair.index(name)]


def swaps(node: ast.expr, names: list[str]) -> Iterator[Any]:
    """Yield expressions that somebody may write in place of this one; `names` are those of parameters."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            yield from (like(node, op=instead()) for instead in OPERATORS.get(type(op), ()))
            yield from (left, right, like(node, left=right, right=left))
        case ast.Compare(left=left, ops=ops, comparators=right):
            for number, op in enumerate(ops):
                for instead in COMPARISONS[type(op)]:
                    yield like(node, ops=[*ops[:number], instead(), *ops[number + 1 :]])
            if len(ops) > 1:
                yield like(node, ops=ops[:-1], comparators=right[:-1])
                yield ast.Compare(right[0], ops[1:], right[1:])
        case ast.BoolOp(op=op, values=values):
            yield like(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
            if len(values) > 1:
                yield from (like(node, values=without(values, number)) for number in range(len(values)))
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield from (ast.Constant(instead) for instead in (value + 1, value - 1, 0, 2 * value, -value))
        case ast.Call(func=function, args=given, keywords=keywords):
            if isinstance(function, ast.Attribute):
                yield function.value
            if len(given) == 1:
                yield given[0]
            for number in range(len(given) - 1):
                pair = [given[number + 1], given[number]]
                yield like(node, args=given[:number] + pair + given[number + 2 :])
            yield from (like(node, args=without(given, number)) for number in range(len(given)))
            yield from (like(node, keywords=without(keywords, number)) for number in range(len(keywords)))
        case ast.Attribute(attr=attr):
            yield from (like(node, attr=instead) for instead in renamed(attr))
        case ast.Name(id=name, ctx=ast.Load()):
            yield from (
                ast.Name(instead, ast.Load()) for instead in (*renamed(name), *names) if instead != name
            )
        case ast.Subscript(value=value, ctx=ast.Load()):
            yield value
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield from (body, orelse, like(node, test=ast.UnaryOp(ast.Not(), test)))
        case ast.Tuple(elts=parts, ctx=ast.Load()) if len(parts) == 2:
            yield like(node, elts=parts[::-1])
        case ast.Dict(keys=keys, values=values) if keys:
            yield from (
                like(node, keys=without(keys, number), values=without(values, number))
                for number in range(len(keys))
            )


def other_slices(node: ast.Slice) -> Iterator[ast.Slice]:
    """Yield slices that leave out the other end, or nothing, or one thing more."""
    lower, upper, step = node.lower, node.upper, node.step
    yield ast.Slice(upper and ast.Constant(1), lower and ast.Constant(-1), step)
    yield ast.Slice(None, upper, step)
    yield ast.Slice(lower, None, step)
    yield ast.Slice(lower, upper, None)
    if lower is None:
        yield ast.Slice(ast.Constant(1), upper, step)


def other_statements(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Yield lists of statements that stand for one: none, or a branch only, or the opposite test."""
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            yield from (body, orelse or [ast.Pass()])
            yield [like(node, test=ast.UnaryOp(ast.Not(), test))]
        case ast.AugAssign(target=target, op=op, value=value):
            yield [ast.Pass()]
            yield [ast.Assign([target], value)]
            yield from ([like(node, op=instead())] for instead in OPERATORS.get(type(op), ()))
        case ast.Assign(targets=[ast.Subscript()]) | ast.Expr() | ast.Break() | ast.Continue():
            yield [ast.Pass()]
        case ast.Assign(value=ast.BinOp() | ast.Call(), targets=[ast.Name(id=name)]):
            names = {part.id for part in ast.walk(node.value) if isinstance(part, ast.Name)}
            if name in names:
                yield [ast.Pass()]


class Bare(ast.NodeTransformer):
    """Leave out annotations and docstrings, which no mistake is in."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        body = node.body[1:] if ast.get_docstring(node) is not None else node.body
        return like(node, body=body, returns=None, decorator_list=[])

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return like(node, annotation=None)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        return ast.Assign([node.target], node.value)


def changes(tree: ast.FunctionDef) -> Iterator[ast.FunctionDef]:
    """Yield copies of a function, each with one place changed."""
    names = [argument.arg for argument in tree.args.args]
    for number, node in enumerate(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            several = value if isinstance(value, list) else [value]
            for index, part in enumerate(several):
                for instead in replacements(part, names):
                    changed = copy.deepcopy(tree)
                    home = list(ast.walk(changed))[number]
                    if isinstance(value, list):
                        new = instead if isinstance(instead, list) else [instead]
                        instead = [*value[:index], *new, *value[index + 1 :]]
                    setattr(home, field, instead)
                    yield changed


def replacements(part: Any, names: list[str]) -> Iterator[Any]:
    """Yield what may stand in the place of an expression, a slice, a statement or a comprehension."""
    if isinstance(part, ast.Slice):
        yield from other_slices(part)
    elif isinstance(part, ast.comprehension) and part.ifs:
        yield from (like(part, ifs=without(part.ifs, number)) for number in range(len(part.ifs)))
    elif isinstance(part, ast.expr):
        yield from swaps(part, names)
    elif isinstance(part, ast.stmt):
        yield from other_statements(part)


def mutants(function: Callable[..., Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield wrong and equal versions of a function: the line that is new, and the function."""
    text = textwrap.dedent(inspect.getsource(function))
    (tree,) = Bare().visit(ast.parse(text)).body
    ast.fix_missing_locations(tree)
    right = ast.unparse(tree)
    home = vars(sys.modules[function.__module__])
    met = {right}
    for changed in changes(tree):
        ast.fix_missing_locations(changed)
        try:
            source = ast.unparse(changed)
            code = compile(source, "<mutant>", "exec")
        except (SyntaxError, ValueError, TypeError):
            continue
        if source in met:
            continue
        met.add(source)
        names = dict(home)
        exec(code, names)
        old, new = right.splitlines(), source.splitlines()
        differing = [line.strip() for line in new if line not in old] or ["(a line is left out)"]
        yield " / ".join(differing[:2]), names[tree.name]

"""Rings of a directed graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping


def rings(edges: Mapping[str, Iterable[str]]) -> Iterator[list[str]]:
    """The strongly connected components with more than one member (Tarjan, without recursion)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    for root in edges:
        if root in number:
            continue
        work = [(root, iter(edges[root]))]
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            for target in following:
                if target not in number:
                    number[target] = low[target] = len(number)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(edges.get(target, ()))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], number[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    ring = [stack.pop()]
                    while ring[-1] != node:
                        ring.append(stack.pop())
                    on_stack.difference_update(ring)
                    if len(ring) > 1:
                        yield ring

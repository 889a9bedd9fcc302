"""What a region is made of, as typed data: queues, locks, cycles, units of work, tasks, and the region that has them.

Each class holds state, with slots, and methods that keep its own invariants; none of them calls anything above it. What
a command does to them are functions of the folders above, which take them by their types: ``kernel`` (tasks,
conditions), ``uow`` (how units of work end), ``queues`` (the requests). A folder reaches another's part through the
region, whose attributes have the types of :mod:`~tdqsim.cics.model.region`: a small protocol for each part.
"""

"""The data model of a region: queues, locks, ATI cycles, units of work, tasks, and the region that holds them.

Each class has slots, and methods that keep its own invariants; none of them calls a package above this one. The work of
the commands is done by functions of the packages above: ``kernel`` (tasks, conditions), ``uow`` (how units of work
end), ``queues`` (the requests). One package reaches a part of another through the region: the attributes of
:mod:`~tdqsim.cics.model.region` have a small protocol for each part as their type.
"""

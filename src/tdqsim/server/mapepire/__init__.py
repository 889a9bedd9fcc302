"""Mapepire: SQL for data queues over secure websockets, for unmodified clients.

``requests`` handles the requests of one connection, without sockets; ``listener`` runs connections on a port of an
asyncio loop beside an engine. The SQL is that of ``job.sql``, the users and jobs are those of the host servers.
"""

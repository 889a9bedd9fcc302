"""The pytest plugin of the server: the fixture ``tdq_server``. It needs no import."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tdqsim.client.served_process import ServerProcess


@pytest.fixture
def tdq_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server in a separate process: ``url``, ``token``, ``client``, and ``region`` of the client.

    It serves what the marker ``tdq_definitions`` names: region directories, or one region (TDQREGN) with definition
    files and resources. It needs the extra ``tdqsim[serve]``.
    """
    from tdqsim.client.served_process import region_directory, serving  # only for tests that use it
    from tdqsim.testing import marked_definitions

    marked = marked_definitions(request.node)
    scratch = tmp_path_factory.mktemp("tdq_server")
    directories = marked.directories or [
        region_directory(marked.definitions(), scratch / "region", handlers=marked.handlers)
    ]
    with serving(directories, scratch, modules=marked.folders()) as server:
        yield server

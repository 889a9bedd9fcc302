"""``tdq serve``: regions in a process of their own, for clients in any language."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer()


@app.command()
def serve(
    directories: Annotated[list[Path], typer.Argument(help="Region directories, each with a region.yaml.")],
    address: Annotated[str, typer.Option(help="A loopback address.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 for any that is free.")] = 0,
    ready_file: Annotated[
        Path | None, typer.Option(help="Written as JSON (url, token, pid, regions) when everything listens.")
    ] = None,
    frozen: Annotated[bool, typer.Option("--frozen", help="The clock stands still until it is moved.")] = False,
    store: Annotated[Path | None, typer.Option(help="The store, where there is one region.")] = None,
) -> None:
    """Serve regions over HTTP until the process is told to end (SIGTERM or Ctrl-C)."""
    import sys  # noqa: PLC0415  (a command imports what it uses)

    import structlog  # noqa: PLC0415

    from tdqsim.errors import TdqError  # noqa: PLC0415

    try:
        from tdqsim.server.serving import Served  # noqa: PLC0415
        from tdqsim.server.serving import serve as serve_regions  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise TdqError(f"{error.name} is not installed; pip install 'tdqsim[serve]' brings it") from error

    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))

    def told(served: Served) -> None:
        typer.echo(f"Serving {', '.join(served.regions)} at {served.url}/api/v1 (process {served.pid}).")
        typer.echo(f"Authorization: Bearer {served.token}")

    code = serve_regions(
        directories, address=address, port=port, ready_file=ready_file, frozen=frozen, store=store, told=told
    )
    raise typer.Exit(code)

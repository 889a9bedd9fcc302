"""``tdq serve``: regions and systems in a separate process, for clients in any language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tdqsim.cli import InputError, example, examples_folder, store_path

if TYPE_CHECKING:
    from tdqsim.server.serving import Served

app = typer.Typer()

DebugPort = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        help="Let debuggers of COBOL programs (DAP) connect to this port of 127.0.0.1; 0 for any free port.",
    ),
]

ReadyFile = Annotated[
    Path | None,
    typer.Option(help="Write JSON to this file (url, token, pid, regions, ports) when everything listens."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        help="The directory of data sets that no DD card names, with a folder for each region.",
    ),
]
Tls = Annotated[bool, typer.Option("--tls", help="Use TLS with a certificate that is generated for this run.")]
Watch = Annotated[
    bool, typer.Option("--watch", help="Take up changed definitions, handlers, COBOL sources and region.yaml.")
]
LogFormatOption = Annotated[Literal["text", "json"] | None, typer.Option(help="The format of the log; default: text.")]
LogLevelOption = Annotated[
    Literal["debug", "info", "warning", "error"] | None,
    typer.Option(help="The lowest level that is logged; default: info."),
]
Trace = Annotated[
    bool, typer.Option("--trace", help="Send OpenTelemetry spans of the regions by OTLP; needs the extra otel.")
]
Demo = Annotated[
    bool, typer.Option("--demo", help="Serve two example applications that never stand still, and sometimes fail.")
]


@app.command()
def serve(
    what: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR...|FILE", help="Directories with region.yaml or system.yaml, examples, or a serve.yaml."
        ),
    ] = None,
    address: Annotated[str | None, typer.Option(help="The IP address to listen on; default: 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The HTTP port; 0 for any free port.")] = None,
    ready_file: ReadyFile = None,
    frozen: Annotated[bool, typer.Option("--frozen", help="The clock stands still until it is moved.")] = False,
    store: Annotated[
        Path | None, typer.Option("--store", "-s", help="The store, if there is one directory.", parser=store_path)
    ] = None,
    users: Annotated[Path | None, typer.Option(help="The users file that tdq users writes.")] = None,
    tls: Tls = False,
    certificate: Annotated[Path | None, typer.Option(help="Use TLS with this certificate (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the certificate (PEM).")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond loopback even without users or without TLS.")
    ] = False,
    out: Out = None,
    debug_port: DebugPort = None,
    watch: Watch = False,
    log_format: LogFormatOption = None,
    log_level: LogLevelOption = None,
    trace: Trace = False,
    demo: Demo = False,
    timeout: Annotated[
        float, typer.Option(min=0, max=3600, help="At the end, wait this many seconds for tasks to end.")
    ] = 10,
) -> None:
    """Serve regions and IBM i systems until SIGTERM or Ctrl-C."""
    import sys

    from tdqsim.errors import ExtraMissing

    if demo == bool(what):
        raise InputError("name directories or a serve.yaml, or give --demo")
    what = [example(each) or each for each in what or ()]
    try:
        from tdqsim.server import demo as demonstration
        from tdqsim.server.host import Host
        from tdqsim.server.logs import configure_log
        from tdqsim.server.servefile import changed, load_serve_file, serve_file
        from tdqsim.server.serving import serve as serve_all
    except ModuleNotFoundError as error:
        raise ExtraMissing(error.name, "serve") from error

    if demo:
        what = demonstration.directories(examples_folder())
    config = load_serve_file(what[0]) if len(what) == 1 and what[0].is_file() else serve_file(what, store)
    if (certificate is None) != (key is None):
        raise InputError("give --certificate and --key together")
    config = changed(
        config, address=address, port=port, debug=debug_port, users=users, tls=tls, certificate=certificate, key=key,
        log_format=log_format, log_level=log_level, trace=trace,
    )  # fmt: skip
    configure_log(config.log.format, config.log.level, sys.stderr)
    code = serve_all(
        config,
        ready_file=ready_file,
        frozen=frozen,
        insecure=insecure,
        timeout=timeout,
        out=out,
        watch=watch,
        begin=demonstration.begin if demo else Host.start_transactions,
        started=_print_addresses,
    )
    raise typer.Exit(code)


def _print_addresses(served: Served) -> None:
    names = ", ".join((*served.regions, *served.systems))
    typer.echo(f"Serving {names} at {served.url}/api/v1 (process {served.pid}).")
    for name, ports in served.ports.get("ibmi", {}).items():
        typer.echo(f"Host servers of {name}: {', '.join(f'{each} {at}' for each, at in ports.items())}.")
    if "debug" in served.ports:
        typer.echo(f"Debuggers of COBOL programs: 127.0.0.1 port {served.ports['debug']}.")
    if served.certificate is not None:
        typer.echo(f"Certificate to trust: {served.certificate}")
    if served.link:
        typer.echo(f"Authorization: Bearer {served.token}")
        typer.echo(f"Sign on in a browser, once: {served.link}")
    else:
        typer.echo("Users sign on at /sign-on, programs by POST /api/v1/session.")

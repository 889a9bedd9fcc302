"""Request and reply by key between two jobs on IBM i data queues.

Requesters put their requests on a FIFO queue with a key of their own; a server job processes them and puts each reply
on a keyed queue; a requester receives the reply with its key, and waits at most a minute for it. Run it:

    python examples/request_reply.py
"""

from __future__ import annotations

from tdqsim.ibmi import Job, System, layout, pack_binary

KEY_LENGTH = 6
LIBRARY = "APPLIB"


def create_queues(system: System) -> None:
    """Create the two queues: requests first in, first out; replies by key, with the sender ID."""
    system.crtlib(LIBRARY)
    with system.job("SETUP") as job:
        job.crtdtaq(dtaq=f"{LIBRARY}/REQUESTS", maxlen=100, text="Requests to the rate server")
        job.crtdtaq(dtaq=f"{LIBRARY}/REPLIES", maxlen=100, seq="*KEYED", keylen=KEY_LENGTH, senderid="*YES")


def server(job: Job) -> int:
    """A never-ending program: it waits for requests, answers them, and ends with the entry *END."""
    served = 0
    while (request := job.qrcvdtaq("REQUESTS", LIBRARY, wait=-1)) is not None:
        key, text = request.data[:KEY_LENGTH], job.page.decode(request.data[KEY_LENGTH:])
        if text == "*END":
            break
        job.qsnddtaq("REPLIES", LIBRARY, job.page.encode(f"{text} = {len(text)} characters"), key)
        served += 1
    return served


def requester(job: Job, text: str) -> str:
    """Send a request and receive the reply; the key is the job number, which is unique."""
    key = job.page.encode(job.number)
    job.qsnddtaq("REQUESTS", LIBRARY, key + job.page.encode(text))
    reply = job.qrcvdtaq("REPLIES", LIBRARY, 60, "EQ", key)
    if reply is None:
        return "no reply within a minute"
    return f"{job.page.decode(reply.data)} (answered by {reply.sender})"


def print_description(job: Job, name: str) -> None:
    """Print a queue description as a program gets it: bytes in a receiver variable, in the format RDQD0100."""
    form = layout("RDQD0100")
    receiver = bytearray(form.length)
    encode = job.page.encode
    job.call("QMHQRDQD", receiver, pack_binary(len(receiver)), encode("RDQD0100"), encode(f"{name:<10}{LIBRARY:<10}"))
    values = form.parse(bytes(receiver), job.page)
    for field in form.fields:
        value = values[field.name]
        shown = f"X'{value.hex().upper()}'" if isinstance(value, bytes) else value
        print(f"{field.offset:4}  {field.field:<40}{shown}".rstrip())


def main() -> None:
    """Run two requesters and one server."""
    with System("EXAMPLE") as system:
        system.crtusrprf("SRVUSER")
        system.crtusrprf("ANNA")
        create_queues(system)
        serving = system.start(server, name="SERVER", user="SRVUSER")
        asking = [system.start(requester, text, name="ASK", user="ANNA") for text in ("PARIS", "LISBON")]
        for one in asking:
            print(one.result())
        with system.job("OPERATOR") as job:
            job.qsnddtaq("REQUESTS", LIBRARY, job.page.encode(" " * KEY_LENGTH + "*END"))
            print(f"requests served: {serving.result()}")
            print_description(job, "REPLIES")


if __name__ == "__main__":
    main()

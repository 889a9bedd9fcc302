"""The SQL script of the probe for IBM i: the cases whose steps are CL commands and SQL services.

It is for clients that have only ODBC or JDBC. Two procedures in the probe's library, whose text is in ``ibmi_sql.txt``,
run a CL command (QSYS2.QCMDEXC) and a query of DATA_QUEUE_ENTRIES; the messages of a command are read from the job log.
Calls of the data queue APIs, which some cases need as preparation, become the SQL services with the same function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tdqsim.probe.ibmi_arguments import argument
from tdqsim.probe.ibmi_cases import IbmiCase, IbmiStep, cases, filled, probe_text

_JOURNAL = """
INSERT INTO &LIB.TDQANSWER SELECT CHAR('{rule}', 33) CONCAT CHAR('{label}', 9) CONCAT CHAR('TYPES', 17) CONCAT
  LISTAGG(TRIM(JOURNAL_ENTRY_TYPE), ' ') WITHIN GROUP(ORDER BY ENTRY_TIMESTAMP, SEQUENCE_NUMBER)
  FROM TABLE(QSYS2.DISPLAY_JOURNAL('&LIB', '{journal}')) X
  WHERE JOURNAL_CODE = 'Q' AND JOURNAL_ENTRY_TYPE IN ('QS', 'QR', 'QC', 'QK', 'QL', 'QJ');
"""

_RECEIVE = "SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE({parameters})) X;"

_REMOVE = 8  # position of the parameter of QRCVDTAQ


def sql_cases() -> Iterator[IbmiCase]:
    """The cases that the SQL script tries."""
    for case in cases():
        services = any(step.kind in ("journal", "entries") for step in case.steps)
        commands = all(step.kind == "cmd" for step in case.steps)
        if not case.alone and (services or commands):
            yield case


def sql_script(values: Mapping[str, str]) -> str:
    """The script, with the libraries in its statements."""
    lines = []
    for case in sql_cases():
        steps = (_statement(case.rule, step, values) for step in (*case.steps, *case.last))
        lines += [f"-- {case.rule}", *steps, ""]
    return filled(probe_text("sql"), values).replace("*CASES\n", "\n".join([*lines, ""]))


def _statement(rule: str, step: IbmiStep, values: Mapping[str, str]) -> str:
    library, words = values["LIB"], [filled(word, values) for word in step.words]
    label = "" if step.label.startswith(".") else step.label.upper()
    if step.kind == "cmd":
        text = filled(step.text, values).replace("'", "''")
        return f"CALL {library}.TDQCMD('{rule}', '{label}', '{text}');"
    if step.kind == "entries":
        return f"CALL {library}.TDQENTRIES('{rule}', '{label}', '{words[1]}', '{words[2]}');"
    if step.kind == "journal":
        return filled(_JOURNAL, values).strip().format(rule=rule, label=label, journal=words[1])
    return _service(words)


def _service(words: Sequence[str]) -> str:
    """The SQL service with the function of a call of a data queue API."""
    api, *parameters = words[1:]
    data = [argument(word).data or b"" for word in parameters]
    queue, library = (each.decode("cp037").rstrip() for each in data[:2])
    place = f"DATA_QUEUE => '{queue}', DATA_QUEUE_LIBRARY => '{library}'"
    keyed = {"QSNDDTAQ": 5, "QRCVDTAQ": 7, "QCLRDTAQ": 4}[api]
    key = data[keyed] if len(data) > keyed and parameters[keyed - 1] not in ("p3:0", "c2:EQ") else b""
    if key:
        place += f", KEY_DATA => '{key.decode('cp037').rstrip()}'"
    if api == "QSNDDTAQ":
        return f"CALL QSYS2.SEND_DATA_QUEUE(MESSAGE_DATA => '{data[3].decode('cp037')[:1]}', {place});"
    order = ", KEY_ORDER => 'EQ'" if key else ""
    if api == "QCLRDTAQ":
        return f"CALL QSYS2.CLEAR_DATA_QUEUE({place}{order});"
    remove = ", REMOVE => 'NO'" if "c10:*NO" in parameters[_REMOVE:] else ""
    return _RECEIVE.format(parameters=place + order + remove)

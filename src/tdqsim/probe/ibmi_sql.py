"""The SQL script of the probe for IBM i: the cases whose steps are CL commands and SQL services.

It is for clients that have only ODBC or JDBC. Two procedures in the probe's library run a CL command (QSYS2.QCMDEXC)
and a query of DATA_QUEUE_ENTRIES; the messages of a command are read from the job log. Calls of the data queue APIs,
which some cases need as preparation, become the SQL services with the same function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tdqsim.probe.answers import FORMAT, MAGIC, MARKER
from tdqsim.probe.ibmi_arguments import argument
from tdqsim.probe.ibmi_cases import IbmiCase, IbmiStep, cases, filled

_BEGIN = """
SET TRANSACTION ISOLATION LEVEL NO COMMIT;

CALL QSYS2.QCMDEXC('CRTLIB LIB(&LIB) AUT(*USE)');

CREATE TABLE &LIB.TDQANSWER (RECORD CHAR(255) NOT NULL);

INSERT INTO &LIB.TDQANSWER
  SELECT '{magic} {form} IBMI ' CONCAT TRIM(OS_VERSION) CONCAT '.' CONCAT TRIM(OS_RELEASE) CONCAT ' {marker}'
  FROM SYSIBMADM.ENV_SYS_INFO;

CREATE OR REPLACE PROCEDURE &LIB.TDQRECORD (IN RULE VARCHAR(40), IN STEP VARCHAR(8), IN FIELD VARCHAR(16),
    IN VALUE VARCHAR(100))
  LANGUAGE SQL MODIFIES SQL DATA
BEGIN
  INSERT INTO &LIB.TDQANSWER VALUES(CHAR(RULE, 33) CONCAT CHAR(STEP, 9) CONCAT CHAR(FIELD, 17) CONCAT VALUE);
END;

CREATE OR REPLACE PROCEDURE &LIB.TDQCMD (IN RULE VARCHAR(40), IN STEP VARCHAR(8), IN TEXT VARCHAR(3000))
  LANGUAGE SQL MODIFIES SQL DATA
BEGIN
  DECLARE FAILED INTEGER DEFAULT 0;
  DECLARE NUMBER INTEGER DEFAULT 0;
  DECLARE LATEST BIGINT DEFAULT 0;
  DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SET FAILED = 1;
  SELECT MAX(ORDINAL_POSITION) INTO LATEST FROM TABLE(QSYS2.JOBLOG_INFO('*')) X;
  CALL QSYS2.QCMDEXC(TEXT);
  IF FAILED = 0 AND STEP <> '' THEN
    CALL &LIB.TDQRECORD(RULE, STEP, 'MESSAGE', 'ok');
  ELSEIF STEP <> '' THEN
    FOR EACH AS
      SELECT MESSAGE_ID AS ID FROM TABLE(QSYS2.JOBLOG_INFO('*')) X
        WHERE ORDINAL_POSITION > LATEST AND MESSAGE_TYPE IN ('DIAGNOSTIC', 'ESCAPE') AND MESSAGE_ID NOT LIKE 'SQL%'
        ORDER BY ORDINAL_POSITION
    DO
      SET NUMBER = NUMBER + 1;
      CALL &LIB.TDQRECORD(RULE, STEP, CASE NUMBER WHEN 1 THEN 'MESSAGE' ELSE 'MESSAGE-' CONCAT TRIM(CHAR(NUMBER)) END,
        ID);
    END FOR;
  END IF;
END;

CREATE OR REPLACE PROCEDURE &LIB.TDQENTRIES (IN RULE VARCHAR(40), IN STEP VARCHAR(8), IN QUEUE VARCHAR(10),
    IN SELECTION VARCHAR(10))
  LANGUAGE SQL MODIFIES SQL DATA
BEGIN
  DECLARE FOUND INTEGER DEFAULT 0;
  DECLARE STATE CHAR(5) DEFAULT '00000';
  DECLARE MESSAGE VARCHAR(1000) DEFAULT '';
  DECLARE CONTINUE HANDLER FOR SQLEXCEPTION
    GET DIAGNOSTICS CONDITION 1 STATE = RETURNED_SQLSTATE, MESSAGE = MESSAGE_TEXT;
  SELECT COUNT(*) INTO FOUND FROM TABLE(QSYS2.DATA_QUEUE_ENTRIES(DATA_QUEUE => QUEUE, DATA_QUEUE_LIBRARY => '&LIB',
    SELECTION_TYPE => SELECTION)) X;
  CALL &LIB.TDQRECORD(RULE, STEP, 'MESSAGE', CASE
    WHEN STATE = '00000' THEN TRIM(CHAR(FOUND))
    WHEN REGEXP_LIKE(MESSAGE, '[A-Z]{{3}}[0-9A-F]{{4}}') THEN REGEXP_SUBSTR(MESSAGE, '[A-Z]{{3}}[0-9A-F]{{4}}')
    ELSE 'SQLSTATE ' CONCAT STATE END);
END;
"""

_JOURNAL = """
INSERT INTO &LIB.TDQANSWER SELECT CHAR('{rule}', 33) CONCAT CHAR('{label}', 9) CONCAT CHAR('TYPES', 17) CONCAT
  LISTAGG(TRIM(JOURNAL_ENTRY_TYPE), ' ') WITHIN GROUP(ORDER BY ENTRY_TIMESTAMP, SEQUENCE_NUMBER)
  FROM TABLE(QSYS2.DISPLAY_JOURNAL('&LIB', '{journal}')) X
  WHERE JOURNAL_CODE = 'Q' AND JOURNAL_ENTRY_TYPE IN ('QS', 'QR', 'QC', 'QK', 'QL', 'QJ');
"""

_RECEIVE = "SELECT MESSAGE_DATA FROM TABLE(QSYS2.RECEIVE_DATA_QUEUE({parameters})) X;"

_END = """
INSERT INTO &LIB.TDQANSWER SELECT '*END ' CONCAT TRIM(CHAR(COUNT(*) - 1)) FROM &LIB.TDQANSWER;

-- The answers file; save its rows.
SELECT RECORD FROM &LIB.TDQANSWER ORDER BY RRN(TDQANSWER);

-- Remove everything.
-- CALL QSYS2.QCMDEXC('DLTLIB LIB(&LIB)');
"""

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
    head = _BEGIN.format(magic=MAGIC, form=FORMAT, marker=MARKER).strip()
    lines = [*filled(head, values).splitlines(), ""]
    for case in sql_cases():
        steps = (_statement(case.rule, step, values) for step in (*case.steps, *case.last))
        lines += [f"-- {case.rule}", *steps, ""]
    return "\n".join([*lines, filled(_END, values).strip()]) + "\n"


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

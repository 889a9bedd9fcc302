"""The CCSID and the library list of the jobs of host servers, and passwords after a restart."""

from __future__ import annotations

import pytest

pytest.importorskip("argon2", reason="needs tdqsim[serve]")

from tdqsim.errors import DefinitionError
from tdqsim.ibmi import ParameterError, System
from tdqsim.ibmi.systemfile import SystemFile, load_system_file
from tdqsim.server.hostservers import CommandPasswords, PasswordLevel, SignOnCode, change_password, sign_on
from tdqsim.server.hostservers import UserAccounts as Accounts
from tdqsim.server.users import Users
from tests.server.hostservers.conftest import Served
from tests.server.hostservers.test_sign_on import Levels, attempt, hidden


def told_ccsid(served, connect_class=Levels):
    client = connect_class(served, "as-signon", 0xE009)
    try:
        return int.from_bytes(client.retrieve(3, "Secret1pw").blocks(24)[0x1114], "big")
    finally:
        client.socket.close()


@pytest.fixture
def german():
    made = Served(ccsid=273)
    yield made
    made.stop()


def test_sign_on_tells_the_ccsid_of_the_system(german):
    assert told_ccsid(german) == 273


def test_sign_on_tells_the_ccsid_of_the_user(german):
    german.do(lambda: german.system.chgusrprf("ANNA", ccsid=1141))
    assert told_ccsid(german) == 1141
    german.do(lambda: german.system.chgusrprf("ANNA", ccsid="*SYSVAL"))
    assert told_ccsid(german) == 273


def test_texts_and_names_of_the_data_queue_server_are_in_the_ccsid_that_was_told(german, connect):
    def make():
        with german.system.job(user="QSECOFR") as job:
            job.crtdtaq("QGPL/Q@", maxlen=10, text="Aufträge [neu]", aut="*ALL")

    german.do(make)
    client = connect(german, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    attributes = client.ask(1, "Q@        QGPL      ".encode("cp273"), template=20)
    assert attributes.fixed(20, 2) == b"\xf0\x00"
    assert attributes.fixed(31, 50) == "Aufträge [neu]".ljust(50).encode("cp273")
    with_at = client.ask(6, "Q§        QGPL      ".encode("cp273") + b"\xf0", template=21)
    assert "CPF9801".encode("cp037") in with_at.body


def test_server_jobs_have_the_libraries_of_qusrlibl_and_the_current_library_of_the_user(served, connect):
    def make():
        served.system.values["QUSRLIBL"] = "APPLIB QGPL"
        for library in ("APPLIB", "ANNALIB"):
            served.system.crtlib(library)
        served.system.chgusrprf("ANNA", curlib="ANNALIB")
        with served.system.job(user="QSECOFR") as job:
            job.crtdtaq("APPLIB/ORDERS", maxlen=11, aut="*ALL")
            job.crtdtaq("ANNALIB/OWN", maxlen=12, aut="*ALL")

    served.do(make)
    client = connect(served, "as-dtaq", 0xE007)
    assert client.sign_on() == 0
    for name, library, length in (("ORDERS", "*LIBL", 11), ("OWN", "*LIBL", 12), ("OWN", "*CURLIB", 12)):
        found = client.ask(1, f"{name:<10}{library:<10}".encode("cp037"), template=20)
        assert found.number(22, 4) == length, (name, library)


def test_jobs_of_the_system_have_the_libraries_of_qusrlibl():
    with System() as system:
        system.values["QUSRLIBL"] = ["QGPL", "APPLIB"]
        assert system.job().user_libraries == ("QGPL", "APPLIB")
        assert system.job(library_list=("OWN",)).user_libraries == ("OWN",)


@pytest.mark.parametrize("value", [7, "A B A", " ".join(f"L{each}" for each in range(26)), "TOOLONGNAME"])
def test_qusrlibl_that_is_not_valid_is_refused_and_changes_nothing(value):
    with System() as system:
        with pytest.raises(ParameterError, match="QUSRLIBL"):
            system.values["QUSRLIBL"] = value
        assert system.values.user_libraries == ("QGPL", "QTEMP")


def test_system_yaml_sets_qusrlibl(tmp_path):
    (tmp_path / "system.yaml").write_text("system_values: {QUSRLIBL: [APPLIB, QGPL], QPWDLVL: 2}\n")
    file: SystemFile = load_system_file(tmp_path)[0]
    assert file.system_values == {"QUSRLIBL": ("APPLIB", "QGPL"), "QPWDLVL": 2}
    (tmp_path / "system.yaml").write_text("system_values: {QUSRLIBL: [1X]}\n")
    with pytest.raises(DefinitionError, match="1X"):
        load_system_file(tmp_path)


def test_commands_of_profiles_set_current_library_and_ccsid():
    with System() as system, system.job(user="QSECOFR") as job:
        job.command("CRTUSRPRF USRPRF(CARL) CURLIB(CARLLIB) CCSID(273)")
        assert (system.profiles["CARL"].current_library, system.profiles["CARL"].ccsid) == ("CARLLIB", 273)
        job.command("CHGUSRPRF USRPRF(CARL) CURLIB(*CRTDFT)")
        assert (system.profiles["CARL"].current_library, system.profiles["CARL"].ccsid) == ("", 273)


def test_passwords_and_profile_attributes_survive_a_restart_without_a_users_file(tmp_path):
    with System(store=tmp_path / "store") as system:
        accounts = Accounts(Users())
        system.passwords = CommandPasswords(system, accounts)
        with system.job(user="QSECOFR") as job:
            job.command("CRTUSRPRF USRPRF(ANNA) PASSWORD('Secret1pw') CURLIB(ANNALIB) CCSID(273)")
            job.command("CRTUSRPRF USRPRF(BERT) PASSWORD('Secret1pw')")
            job.command("CHGUSRPRF USRPRF(BERT) PASSWORD(*NONE)")
        changed = hidden(PasswordLevel.SHA1, "Secret1pw", "Other2")
        assert change_password(system, accounts, PasswordLevel.SHA1, attempt(), changed) is SignOnCode.GOOD
    with System(store=tmp_path / "store") as system:
        accounts = Accounts(Users())
        system.passwords = CommandPasswords(system, accounts)
        assert (system.profiles["ANNA"].current_library, system.profiles["ANNA"].ccsid) == ("ANNALIB", 273)
        assert sign_on(system, accounts, PasswordLevel.SHA1, attempt("Other2")) is SignOnCode.GOOD
        assert sign_on(system, accounts, PasswordLevel.SHA1, attempt("Secret1pw")) is SignOnCode.PASSWORD_WRONG
        assert sign_on(system, accounts, PasswordLevel.SHA1, attempt(user="BERT")) is SignOnCode.PASSWORD_NONE

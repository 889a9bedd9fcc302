"""users.yaml and signing on by it."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("argon2", reason="the extra [serve] is not installed")

import structlog

from tdqsim.errors import DefinitionError, TdqError
from tdqsim.server.bounds import BOUNDS
from tdqsim.server.hostservers import PasswordLevel, token
from tdqsim.server.users import Role, SignOnRefused, TooManySignOns, User, Users, hashed
from tests.server.test_command_line import tdq

ALICE = User("ALICE", frozenset({Role.operate}), ("PAYTEAM",), hashed("apple pie"), {2: bytes(range(20))})


def written(path, text, mode=0o600):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_what_is_written_is_what_is_loaded_and_private(tmp_path):
    path = tmp_path / "users.yaml"
    bob = User("BOB", frozenset({Role.look}), ibmi={2: bytes(20)}, disabled=True)
    before = os.umask(0)
    try:
        Users([ALICE, bob]).write(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]
    found = Users.load(path)
    assert list(found) == [ALICE, bob]
    assert "apple" not in path.read_text()
    assert "password-equivalent" in path.read_text()


def test_the_right_password_and_no_other():
    users = Users([ALICE])
    assert users.authenticate("alice", "apple pie") is ALICE
    for user, password in (("ALICE", "apple"), ("ALICE", ""), ("NOBODY", "apple pie"), ("ALICE", "x" * 10**6)):
        with pytest.raises(SignOnRefused) as caught:
            users.authenticate(user, password)
        assert str(caught.value) == "the user or the password is wrong"  # the same for all


def test_a_letter_with_other_capitals_is_nobody_s(tmp_path):
    users = Users([User("SS", frozenset({Role.look}), password=hashed("x"))])
    with pytest.raises(SignOnRefused):
        users.authenticate("\u00df", "x")
    with pytest.raises(TdqError, match="no user"):
        users.remove("\u00df")
    path = tmp_path / "users.yaml"
    users.write(path)
    with pytest.raises(DefinitionError, match="must be 1 to 10"):
        Users.load(written(path, path.read_text().replace("SS", "\u00df")))


def test_who_has_no_password_or_is_disabled_cannot_sign_on():
    users = Users(
        [User("NOPW", frozenset({Role.look})), User("GONE", password=hashed("x"), ibmi={2: bytes(20)}, disabled=True)]
    )
    for user, password in (("NOPW", ""), ("NOPW", "nobody's password"), ("GONE", "x")):
        with pytest.raises(SignOnRefused, match="the password is wrong"):
            users.authenticate(user, password)
    assert users.ibmi("GONE") == {}


def test_sign_ons_that_fail_are_counted_by_user_and_origin_and_forgotten_after_a_time():
    now = [0.0]
    users = Users([ALICE], now=lambda: now[0])
    for _each in range(5):
        with pytest.raises(SignOnRefused):
            users.authenticate("ALICE", "wrong", "192.0.2.1")
    now[0] = 10.0
    with pytest.raises(TooManySignOns) as refused:
        users.authenticate("ALICE", "apple pie", "192.0.2.1")
    assert refused.value.seconds == 50
    assert users.authenticate("ALICE", "apple pie", "192.0.2.2") is ALICE
    now[0] = 61.0
    assert users.authenticate("ALICE", "apple pie", "192.0.2.1") is ALICE


def test_one_origin_does_not_try_many_users_and_an_own_account_does_not_help():
    users = Users([ALICE])
    for number in range(30):
        users.admit(f"USER{number}", "192.0.2.1")
        if number % 4 == 0:  # more often than it may fail
            users.admit("ALICE", "192.0.2.1")
            users.succeeded("ALICE", "192.0.2.1")
    with pytest.raises(TooManySignOns):
        users.admit("LAST", "192.0.2.1")


def test_what_is_counted_is_bounded():
    users = Users()
    for number in range(20_000):
        users.admit("U", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}") if number < 90 else users.admit(
            f"U{number}", str(number)
        )
    assert len(users._attempts._counts) <= 10_000


def test_of_more_sign_ons_than_are_counted_those_of_long_ago_are_forgotten(monkeypatch):
    monkeypatch.setitem(BOUNDS, "sign_on_counted", 6)  # three for each user and origin
    users = Users()
    for user in ("A", "B", "A", "C", "A", "A", "A"):
        users.admit(user, f"of {user}")
    with pytest.raises(TooManySignOns):
        users.admit("A", "of A")


def test_of_as_many_users_as_may_be_one_may_be_replaced(monkeypatch):
    monkeypatch.setitem(BOUNDS, "users", 1)
    users = Users([ALICE])
    users.put(User("ALICE", disabled=True))
    assert users.get("ALICE").disabled
    with pytest.raises(TdqError, match="there are 1 users, which is the maximum"):
        users.put(User("BOB"))


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602, 0o660])
def test_a_file_that_others_can_reach_is_refused(tmp_path, mode):
    path = written(tmp_path / "users.yaml", "users: []\n", mode)
    with pytest.raises(DefinitionError, match="chmod 600"):
        Users.load(path)


def test_a_link_a_folder_and_a_pipe_are_no_users_file(tmp_path):
    real = written(tmp_path / "real.yaml", "users: []\n")
    (tmp_path / "link.yaml").symlink_to(real)
    os.mkfifo(tmp_path / "pipe.yaml", 0o600)
    (tmp_path / "folder.yaml").mkdir(0o700)
    for name in ("link.yaml", "pipe.yaml", "folder.yaml", "none.yaml"):
        with pytest.raises(DefinitionError, match=name):
            Users.load(tmp_path / name)


HUGE = "$argon2id$v=19$m=4294967295,t=3,p=4$c29tZXNhbHQ$RdescudvJCsgt3ub+b2dWRWJTmaaObG"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("format: 2\nusers: []", r":1: format: is another version of the format; this tdqsim reads format 1"),
        ("users: [{id: ALICE}]", r":1: .*roles.*required"),
        ("users:\n- {id: ALICE, roles: [look], colour: red}", r":2: .*colour.*not known"),
        ("users:\n- {id: 1BAD, roles: [look]}", ":2: .*must be 1 to 10"),
        ("users:\n- {id: ALICE, roles: [king]}", ":2: .*look"),
        ("users:\n- {id: A, roles: [look]}\n- {id: a, roles: [look]}", "given twice"),
        ("users:\n- {id: A, roles: [look], password: secret}", "Argon2"),
        (f"users:\n- {{id: A, roles: [look], password: '{HUGE}'}}", "hash_memory_kib"),
        ("users:\n- {id: A, roles: [look], ibmi: {2: C1C2}}", "40 hexadecimal digits"),
        ("users:\n- {id: A, roles: [look], ibmi: {7: C1C2}}", "password levels are 0, 2 and 4"),
        ("a: &a [x, x]\nb: &b [*a, *a]\nusers: [*b, *b]", "aliases"),
        ("users: " + "[" * 100, "nested"),
        ("users: !!python/object/apply:os.system [id]", "tags"),
        ("users: 5", "users"),
        ("users:\n" + "\n".join(f"- {{id: U{n}, roles: [look]}}" for n in range(10_001)), "10000"),
        ("#" * 5_000_000, "longer than"),
        ("users: \x00", "YAML"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_words(tmp_path, text, said):
    path = written(tmp_path / "users.yaml", text)
    with pytest.raises(DefinitionError, match=said) as caught:
        Users.load(path)
    assert "secret" not in str(caught.value)  # what may be a password is never shown


@pytest.mark.parametrize("user_id", ["", "TOOLONGNAME", "9A", "A B", "Ä", "A\n", "../X"])
def test_an_id_that_is_none_is_refused(user_id):
    with pytest.raises(TdqError, match="must be 1 to 10"):
        Users().put(User(user_id))


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "users.yaml").mkdir()
    with pytest.raises(TdqError, match="cannot be written"):
        Users([ALICE]).write(tmp_path / "users.yaml")
    assert list(tmp_path.iterdir()) == [tmp_path / "users.yaml"]


def test_roles_include_those_before_them():
    user = User("A", frozenset({Role.operate}))
    assert [user.may(role) for role in (Role.look, Role.operate, Role.break_)] == [True, True, False]
    assert User("A", frozenset({Role.look, Role.operate})).may(Role.operate)


PASSWORD = "Secret1pw"


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        ([], set()),
        (["--ibmi"], {PasswordLevel.SHA1}),
        (["--ibmi", "--qpwdlvl", "0"], {PasswordLevel.DES}),
        (["--ibmi", "--qpwdlvl", "3"], {PasswordLevel.SHA1}),
        (["--ibmi", "--qpwdlvl", "1", "--qpwdlvl", "4"], {PasswordLevel.DES, PasswordLevel.PBKDF2}),
    ],
)
def test_verifiers_are_kept_for_the_password_levels_that_are_asked_for(tmp_path, words, levels):
    path = tmp_path / "users.yaml"
    assert tdq("users", "add", "anna", *words, "--file", path, given=f"{PASSWORD}\n").returncode == 0
    assert Users.load(path).ibmi("ANNA") == {int(level): token(level, "ANNA", PASSWORD) for level in levels}

    done = tdq("users", "passwd", "anna", "--file", path, given="Other2pw\n")
    assert done.returncode == 0
    assert Users.load(path).ibmi("ANNA") == {int(level): token(level, "ANNA", "Other2pw") for level in levels}


def test_a_password_level_that_does_not_exist_is_refused(tmp_path):
    path = tmp_path / "users.yaml"
    refused = tdq("users", "add", "anna", "--ibmi", "--qpwdlvl", "5", "--file", path, given=f"{PASSWORD}\n")
    assert refused.returncode == 2
    assert "'--qpwdlvl'" in refused.stderr
    assert "less than or equal to 4" in refused.stderr
    assert not path.exists()


class Clock:
    """Seconds that a test moves."""

    def __init__(self):
        self.seconds = 0.0

    def __call__(self):
        return self.seconds


def test_a_running_server_takes_in_what_the_file_becomes(tmp_path):
    file, clock = tmp_path / "users.yaml", Clock()
    Users([User("ALICE", frozenset({Role.operate})), User("BOB", frozenset({Role.look}))]).write(file)
    users = Users.load(file, follow=True, now=clock)
    Users([User("ALICE", frozenset({Role.look})), User("CAROL", frozenset({Role.look}))]).write(file)
    assert users.get("BOB") is not None  # it was looked at less than a second ago
    clock.seconds += 1
    assert users.get("BOB") is None
    assert users.get("CAROL") is not None
    assert not users.get("ALICE").may(Role.operate)
    Users([User("ALICE", groups=("PAYTEAM",)), User("DAVE")]).write(file)
    assert users.get("DAVE") is None
    clock.seconds += 1
    assert users.groups["ALICE"] == ("PAYTEAM",)
    assert users.get("DAVE") is not None


@pytest.mark.parametrize("wrong", ["users:\n- {id: ALICE}\n", "users: [", "open", "gone"])
def test_a_file_that_has_become_wrong_changes_nothing_and_is_logged_once(tmp_path, wrong):
    file, clock = tmp_path / "users.yaml", Clock()
    Users([User("ALICE", frozenset({Role.operate}))]).write(file)
    users = Users.load(file, follow=True, now=clock)
    if wrong == "gone":
        file.unlink()
    elif wrong == "open":
        file.chmod(0o644)
    else:
        file.write_text(wrong)
    with structlog.testing.capture_logs() as logs:
        for _ in range(5):
            clock.seconds += 1
            assert users.get("ALICE").may(Role.operate)
    assert [each["event"] for each in logs] == ["users_file_refused"]
    assert str(file) in logs[0]["error"]
    file.unlink(missing_ok=True)
    Users([User("BOB", frozenset({Role.look}))]).write(file)
    clock.seconds += 1
    assert users.get("BOB") is not None
    assert users.get("ALICE") is None


def test_sign_ons_that_failed_are_counted_on_when_the_file_changes(tmp_path):
    file, clock = tmp_path / "users.yaml", Clock()
    Users([User("ALICE", frozenset({Role.look}), password=hashed("apple pie"))]).write(file)
    users = Users.load(file, follow=True, now=clock)
    for _ in range(5):
        users.admit("ALICE", "192.0.2.1")
    Users([User("ALICE", frozenset({Role.look}), password=hashed("plum pie"))]).write(file)
    clock.seconds += 1
    with pytest.raises(TooManySignOns):
        users.authenticate("ALICE", "plum pie", "192.0.2.1")
    assert users.authenticate("ALICE", "plum pie", "192.0.2.2").id == "ALICE"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("users: x\n", "users.yaml:1: users: must be a list"),
        ("x\n", "users.yaml:1: must be keys with values, as key: value"),
        ("users: [x]\n", "users.yaml:1: users.0: must be keys with values, as key: value"),
    ],
)
def test_a_file_of_another_form_is_told_in_words_of_yaml(tmp_path, text, said):
    path = written(tmp_path / "users.yaml", text)
    with pytest.raises(DefinitionError) as refused:
        Users.load(path)
    assert str(refused.value) == f"{tmp_path}/{said}"


def test_a_long_list_of_wrong_users_gives_a_short_message(tmp_path):
    path = written(tmp_path / "users.yaml", "users:\n" + "- x\n" * 20_000)
    with pytest.raises(DefinitionError) as refused:
        Users.load(path)
    assert len(str(refused.value)) <= 4_096

"""Where a server leaves its address: in a folder of its own user, whatever others have made."""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

from tdqsim.core.control import Address

ADDRESS = Address("http://127.0.0.1:1", "token", 1, "PAYREGN", "region")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """No folder of this user's in /tmp: its name is that of a user who is not there."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return home


@pytest.fixture
def taken(home, tmp_path, monkeypatch):
    """Another user has made the folder in /tmp."""
    real = os.lstat

    def lstat(path, *args, **options):
        found = real(path, *args, **options)
        if str(path) != f"/tmp/tdqsim-{os.geteuid()}":
            return found
        return os.stat_result((found.st_mode, *found[1:4], found.st_uid + 1, *found[5:]))

    monkeypatch.setattr(os, "lstat", lstat)
    monkeypatch.setattr(type(tmp_path), "lstat", lstat)
    return home


def test_the_runtime_folder_comes_first(tmp_path, monkeypatch, home):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert Address.folder() == tmp_path / "tdqsim"
    with ADDRESS.announced([tmp_path]):
        assert Address.find(tmp_path) == ADDRESS
    assert Address.find(tmp_path) is None
    assert (tmp_path / "tdqsim").stat().st_mode & 0o777 == 0o700


def test_the_file_of_another_server_of_the_same_place_stays_when_the_first_one_ends(tmp_path, monkeypatch, home):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    other = ADDRESS._replace(pid=2, token="other")
    with ExitStack() as second:
        with ADDRESS.announced([tmp_path]):
            second.enter_context(other.announced([tmp_path]))
        assert Address.find(tmp_path) == other
    assert Address.find(tmp_path) is None


def test_who_only_looks_for_a_server_makes_no_folder(tmp_path, monkeypatch, home):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert Address.find(tmp_path) is None
    assert not (tmp_path / "tdqsim").exists()


def test_a_folder_that_another_user_has_made_stops_nobody(taken, tmp_path):
    Address.folder()
    assert Address.folder() == taken / ".tdqsim"
    with ADDRESS.announced([tmp_path]):
        assert Address.find(tmp_path) == ADDRESS
    assert Address.find(tmp_path) is None


def test_what_others_can_write_is_not_used(taken, tmp_path):
    (taken / ".tdqsim").mkdir(mode=0o755)
    (taken / ".tdqsim").chmod(0o755)
    assert Address.folder() is None
    assert Address.find(tmp_path) is None

"""Files appear complete or not at all, and errors name the file that was asked for."""

import errno
import os
import stat

import pytest

from funcenv.files import replaced_file, write_bytes, write_text


def test_a_write_replaces_the_file_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "report.json"
    write_text(path, "old")
    write_text(path, "é")
    assert path.read_bytes() == "é".encode() and list(tmp_path.iterdir()) == [path]
    write_bytes(path, b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_is_reported_with_its_name(tmp_path, monkeypatch, call):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "report.json"
    write_text(path, "old")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(OSError, match=r"No space left on device: '.*report\.json'") as caught:
        write_text(path, "new")
    assert caught.value.errno == errno.ENOSPC and caught.value.filename == str(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "report.json"
    write_text(path, "old")
    with pytest.raises(KeyboardInterrupt), replaced_file(path) as partial:
        partial.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_an_error_that_concerns_another_file_keeps_its_name(tmp_path):
    with pytest.raises(FileNotFoundError, match="other"), replaced_file(tmp_path / "report.json"):
        (tmp_path / "other").read_text()
    assert not list(tmp_path.iterdir())


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "report.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink() and target.read_text() == "new"
    assert list((tmp_path / "there").iterdir()) == [target]


def test_the_permissions_of_the_file_stay(tmp_path):
    path = tmp_path / "report.json"
    path.write_text("old")
    path.chmod(0o640)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_device_is_written_to_and_not_replaced():
    write_text("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write_text("/dev/full", "too much")


def test_a_folder_is_refused_and_stays(tmp_path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        write_text(tmp_path, "text")
    assert tmp_path.is_dir()

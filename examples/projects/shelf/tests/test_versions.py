import pytest

from shelf.versions import Version, compare, newest, satisfies


def test_release_numbers_are_read():
    assert Version("1.4.2").release == (1, 4, 2)
    assert Version(" 10.0 ").release == (10, 0)


def test_prerelease_is_read():
    assert Version("2.0-rc1").pre == (2, 1)
    assert Version("2.0b3").pre == (1, 3)
    assert Version("2.0").pre is None


@pytest.mark.parametrize("text", ["", "1.", "x", "1.0-dev", "1..2"])
def test_bad_versions_are_refused(text):
    with pytest.raises(ValueError):
        Version(text)


@pytest.mark.parametrize(
    "left, right, expected",
    [("1.0", "1.0.0", 0), ("1.2", "1.10", -1), ("2", "1.9.9", 1), ("1.0-rc1", "1.0", -1), ("1.0b2", "1.0a9", 1)],
)
def test_compare(left, right, expected):
    assert compare(left, right) == expected


def test_compare_is_antisymmetric():
    assert compare("1.0a1", "1.0a2") == -1
    assert compare("1.0a2", "1.0a1") == 1


def test_text_round_trip():
    for text in ("1.4.2", "2.0-rc1", "3", "1.0-a7"):
        assert str(Version(text)) == text


def test_bump_raises_one_number():
    assert str(Version("1.4.2").bump(0)) == "2.0.0"
    assert str(Version("1.4.2").bump(1)) == "1.5.0"
    assert str(Version("1.4.2").bump(2)) == "1.4.3"


def test_bump_adds_missing_numbers():
    assert str(Version("1").bump(2)) == "1.0.1"


def test_bump_refuses_negative():
    with pytest.raises(ValueError):
        Version("1.0").bump(-1)


def test_satisfies_single_clauses():
    assert satisfies("1.2", ">=1.2")
    assert not satisfies("1.2", ">1.2")
    assert satisfies("1.2", "<=1.2")
    assert not satisfies("1.2", "<1.2")
    assert satisfies("1.2", "==1.2.0")
    assert not satisfies("1.2", "!=1.2")


def test_satisfies_all_clauses_must_hold():
    assert satisfies("1.4", ">=1.2, <2, !=1.5")
    assert not satisfies("1.5", ">=1.2, <2, !=1.5")
    assert not satisfies("2.0", ">=1.2, <2")


def test_satisfies_ignores_empty_clauses():
    assert satisfies("1.0", "")
    assert satisfies("1.0", ">=1.0,")


def test_satisfies_refuses_nonsense():
    with pytest.raises(ValueError):
        satisfies("1.0", "about 1")


def test_compatible_release():
    assert satisfies("1.4", "~1.4")
    assert satisfies("1.9", "~1.4")
    assert not satisfies("2.0", "~1.4")
    assert not satisfies("1.3", "~1.4")
    assert satisfies("1.4.9", "~1.4.2")
    assert not satisfies("1.5", "~1.4.2")


def test_newest_skips_prereleases():
    assert newest(["1.0", "2.0-rc1", "1.5"]) == "1.5"
    assert newest(["1.0", "2.0-rc1", "1.5"], allow_prerelease=True) == "2.0-rc1"


def test_newest_of_nothing():
    assert newest([]) is None
    assert newest(["1.0a1"]) is None

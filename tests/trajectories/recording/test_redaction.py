"""Secrets become stable placeholders, everywhere, before anything is written."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from redtogreen.trajectories.recording.redaction import Redactor

KEY = "AKIAQ3EGRZ7ABCDEFG2H"
PASSWORD = "hunter2Xq9!zz81"


def test_same_secret_same_placeholder_numbered_in_order():
    redactor = Redactor({})
    assert redactor.text(f"id {KEY}") == "id <SECRET:aws-access-key:1>"
    assert redactor.text("id AKIAQ3EGRZ7ABCDEFG2J") == "id <SECRET:aws-access-key:2>"
    assert redactor.text(f"again {KEY}!") == "again <SECRET:aws-access-key:1>!"
    assert redactor.count == 3


def test_a_known_secret_is_replaced_where_nothing_marks_it():
    redactor = Redactor({})
    redactor.text(f"password='{PASSWORD}'")
    assert redactor.text(f"AssertionError: got {PASSWORD}") == "AssertionError: got <SECRET:password:1>"


def test_nested_values_keys_included():
    redactor = Redactor({})
    value = {"env": [f"password='{PASSWORD}'", 3, None], KEY: {"deep": (f"x {KEY}",)}}
    clean = redactor.value(value)
    assert PASSWORD not in json.dumps(clean) and KEY not in json.dumps(clean)
    assert clean["env"][1:] == [3, None]


def test_a_key_tells_what_its_value_is():
    clean = Redactor({}).value({"env": {"DB_PASSWORD": PASSWORD, "PATH": "/usr/bin:/bin:/x1"}})
    assert clean == {"env": {"DB_PASSWORD": "<SECRET:password:1>", "PATH": "/usr/bin:/bin:/x1"}}


def test_a_clean_value_is_the_same_object():
    value = {"matches": ["parse_config(line:87)"], "n": 1}
    assert Redactor({}).value(value) is value


def test_a_key_split_over_list_items_is_replaced_in_each():
    body = "MIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn/ygWyF8PbnGy0AHB7MaU9RvZ1x1Z5j0ZC"
    lines = ["before", "-----BEGIN RSA PRIVATE KEY-----", body, "-----END RSA PRIVATE KEY-----", "after"]
    clean = Redactor({}).value(lines)
    assert clean[0] == "before" and clean[-1] == "after" and body not in "".join(clean)


def test_secrets_of_the_hosts_environment_are_hidden_by_value():
    host = {"SERVICE_TOKEN": "plain-words-only", "LANG": "C.UTF-8-long-enough", "API_KEYS": "a,b,c,d,e", "KEY": "short"}
    redactor = Redactor(host)
    assert redactor.text("got plain-words-only here") == "got <SECRET:environment:1> here"
    assert redactor.text("C.UTF-8-long-enough a,b,c,d,e short") == "C.UTF-8-long-enough <SECRET:environment:2> short"


def test_redacting_twice_changes_nothing_more():
    redactor = Redactor({})
    once = redactor.text(f"password='{PASSWORD}' key {KEY} mail jane.doe@company.com")
    assert redactor.text(once) == once and Redactor({}).text(once) == once


_secret = st.sampled_from([KEY, "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "jane.doe@company.com"])


@given(st.lists(st.one_of(st.text(max_size=20), _secret), max_size=8))
def test_planted_secrets_never_survive_and_the_rest_stays(parts):
    text = " \n ".join(parts)
    clean = Redactor({}).text(text)
    for secret in (KEY, "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "jane.doe@company.com"):
        assert f" {secret} " not in f" {clean} "
    assert Redactor({}).text(text) == clean

"""One cache of environments for the whole session, in its temporary folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests never read or fill the caches of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDTOGREEN_HOME", str(tmp_path_factory.mktemp("home")))
        yield

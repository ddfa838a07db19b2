"""Trust in a workspace: the person's environment names its real path, and nothing in the workspace can."""

from pathlib import Path

import pytest

from contextasm.config.keys.trust import is_trusted, trust_advice
from contextasm.model import ContextasmError


def test_the_variable_names_real_paths(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    for names in (str(root), f"{tmp_path}/link", f"/nowhere:{root}", f":{root}/", f"{tmp_path}/other/../w"):
        assert is_trusted(str(root), {"CTXASM_TRUST": names}), names


@pytest.mark.parametrize("names", [None, "", ":", "/", "{parent}", "{root}2", "{root}/agents", "*"])
def test_no_other_name_trusts_a_workspace(tmp_path: Path, names: str | None) -> None:
    root = tmp_path / "w"
    (root / "agents").mkdir(parents=True)
    if names == "*":
        with pytest.raises(ContextasmError, match="absolute"):
            is_trusted(str(root), {"CTXASM_TRUST": names})
        return
    environment = {} if names is None else {"CTXASM_TRUST": names.format(parent=tmp_path, root=root)}
    assert not is_trusted(str(root), environment)


def test_advice_can_be_pasted_into_a_shell() -> None:
    assert trust_advice("/home/me/ws") == "to trust this workspace, set CTXASM_TRUST=/home/me/ws"
    assert trust_advice("/home/me/my ws").endswith("CTXASM_TRUST='/home/me/my ws'")
    assert "can't be trusted" in trust_advice("/home/me/a:b")

"""What every planner writes, and what its reverts write, is within what a write may touch."""

from __future__ import annotations

import pytest

from controller.changes.reach import misled, touched
from tests.contract.test_planners import NAMES, WISHES, _plan
from tests.support.manifests import documents
from tierdeck.changes.plan import FieldEdit, Plan, Write
from tierdeck.changes.wish import Wish


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.text)
def test_it_is_within_reach_there_and_back(name: str, wish: Wish) -> None:
    made = _plan(name, documents(name), wish)
    for write in made.writes if isinstance(made, Plan) else ():
        back = Write(write.ref, write.address, write.api_version, tuple(map(_turned, write.edits)), write.surface)
        for one in (write, back):
            parts = touched(one)
            assert not isinstance(parts, str), (parts, [(edit.before, edit.after) for edit in one.edits])
            assert misled(one) == ""


def _turned(edit: FieldEdit) -> FieldEdit:
    return FieldEdit(edit.path, edit.after, edit.before if edit.back is None else edit.back)

"""What comes from outside stands for itself in Markdown."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from console.web.escape import escaped, marked

HOSTILE = "can't reach [db](http://x.test) <img src=x> **now**. See ![y](http://y.test) and `python -m x`"


def test_code_stays_code_and_all_else_is_no_markdown() -> None:
    assert marked("run `a *b*` [x](y)") == r"run `a *b*` \[x\]\(y\)"
    assert marked("one\n\n# two") == r"one \# two", "no heading and no new paragraph"
    assert marked("a ` alone") == escaped("a ` alone")


def test_trouble_from_outside_is_no_markdown_on_the_page() -> None:
    """In the sentence and in what is said after it."""

    def draw(trouble: str) -> None:
        from console.alerts_page import Told, alerts_page  # noqa: PLC0415  # the body is all that AppTest runs
        from console.web.alert_lists import draw_trouble  # noqa: PLC0415  # the body is all that AppTest runs

        draw_trouble(alerts_page(Told((), (), (), trouble, (), ()), 0.0))

    app = AppTest.from_function(draw, args=(HOSTILE,), default_timeout=60).run()
    assert not app.exception
    (shown,) = [one.value for one in app.markdown]
    assert "](" not in shown
    assert "<img" not in shown.replace(r"\<", "")
    assert "`python -m x`" in shown


def test_a_refusal_with_a_name_from_outside_is_no_markdown() -> None:
    def draw(words: str) -> None:
        from console.web.live import tell  # noqa: PLC0415  # the body is all that AppTest runs
        from tierdeck.errors import UsageError  # noqa: PLC0415  # the body is all that AppTest runs

        tell(UsageError(f"there is no endpoint {words}", "Write `CLUSTER:NAME`."))

    app = AppTest.from_function(draw, args=(HOSTILE,), default_timeout=60).run()
    (shown,) = [one.value for one in app.warning]
    assert "](" not in shown
    assert "`CLUSTER:NAME`" in shown

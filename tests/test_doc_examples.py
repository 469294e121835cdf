"""Console examples are rewritten with the same parts left out."""

from __future__ import annotations

import pytest

from doc_examples import OMITTED, rewritten, with_omissions

PRINTED = ["title", "span 10", "busy 5", "", "Table", "a 1", "b 2", "", "end"]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (["old"], PRINTED),
        (["title", OMITTED], ["title", OMITTED]),
        ([OMITTED, "end"], [OMITTED, "end"]),
        (["title", OMITTED, "b 3", OMITTED], ["title", OMITTED, "b 2", OMITTED]),
        ([OMITTED, "Table", "a 1", "b 2", OMITTED], [OMITTED, "Table", "a 1", "b 2", OMITTED]),
        ([OMITTED, "span 11", "busy 6", OMITTED], [OMITTED, "span 10", "busy 5", OMITTED]),
    ],
    ids=["all", "first", "last", "like", "same", "changed"],
)
def test_the_same_parts_are_left_out(shown: list[str], expected: list[str]) -> None:
    assert with_omissions(shown, PRINTED) == expected


def test_what_is_no_longer_printed_is_told() -> None:
    with pytest.raises(ValueError, match="nothing is printed like 'something else entirely'"):
        with_omissions([OMITTED, "something else entirely", OMITTED], PRINTED)


def test_each_use_of_a_block_is_run_and_the_page_kept() -> None:
    page = "# A\n\n```console\n$ one\nold\n$ two x\n…\nb 9\n```\n\n```sh\n$ three\n```\n"
    printed = {"one": "new\n", "two x": "a 1\nb 2\n"}
    expected = page.replace("old", "new").replace("b 9", "b 2")
    assert rewritten(page, lambda line, _: printed[line]) == expected

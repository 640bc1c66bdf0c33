"""What a cart costs."""

import unittest

from shop.cart import total


class TestTotal(unittest.TestCase):
    def test_items_are_added(self) -> None:
        assert total([250, 199]) == 449

    def test_a_discount_is_taken_off(self) -> None:
        assert total([1000], discount=10) == 900

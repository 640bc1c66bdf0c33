"""A cart and what it costs."""


def total(prices: list[int], discount: int = 0) -> int:
    """The price of all items in cents, less a discount in per cent."""
    return sum(prices) * (100 - discount) // 100

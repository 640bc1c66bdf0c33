"""How hooks are called: one path for every point, rule and source of the payload.

`settle` decides inside a transaction which calls there will be, `delivery` makes them after the
commit, `firing` makes those of a point that a flow, a person or an agent fires; both go through
`record`, and `call` makes the one call.
"""

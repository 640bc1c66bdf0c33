"""Trust: code from a repository runs only after its user has reviewed and trusted it.

Covered files (cover) become a manifest, the user's book says whether they trust exactly that,
and a watch ensures that nothing changes between the verdict and the start of a hook.
"""

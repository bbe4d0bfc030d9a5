"""Claims of papers, measured: ``claims.toml`` in, verdicts with spread and a generated page out.

``claims_file`` reads what is claimed and what counts, ``measure`` takes figures from sweep tables, ``verdict`` applies the
rules, ``results`` keeps them as a document, ``page`` and ``figures`` write what a reader sees, ``reproduce`` does all of it.
"""

"""Batch sweeps: a TOML file says what to run, one JSON file a run says what came out.

``spec`` reads the file, ``expand`` makes runs with content-addressed keys, ``execute`` does one run,
``store`` keeps records safely, ``local`` and ``cluster`` are the engines, ``collect`` makes tables,
``profiles`` and ``paired`` the statistics, ``report`` a page that needs no network.
"""

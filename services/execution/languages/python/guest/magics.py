"""The magics of IPython that only set it up: they do nothing here, whether as a line or by ``get_ipython()``."""

SETUP_MAGICS = frozenset(
    "matplotlib config load_ext reload_ext unload_ext autoreload pylab colors xmode precision autosave automagic"  # noqa: SIM905
    " logstart logstop logon logoff pprint autoindent autocall gui aimport nbagg doctest_mode autoawait".split()
)

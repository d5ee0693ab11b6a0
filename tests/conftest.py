"""Real servers for every test that asks for one."""

pytest_plugins = ["tests.support.servers", "tests.support.scripted"]

"""Variables whose names begin with ASSAY_ and that nothing reads: misspelled settings, which would be ignored."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from shared.setting_names import SETTING_NAMES

_PREFIX = "ASSAY_"
#: Read by the client, by scripts and by containers; settings are listed by ``make generate``.
_OTHERS = frozenset(
    f"{_PREFIX}{name}"
    for name in (
        "API_KEY", "URL", "PROFILE", "CONFIG", "KEY", "VERSION", "WEBHOOK_SECRET", "SERVICE_NAME",
        "SERVICE_DATABASE_URL", "FIRST_JOB_SECONDS", "PARSERS_SOCKET", "LOCAL_PATHS",
    )
)  # fmt: skip
_OWN = re.compile(rf"{_PREFIX}(?:DATABASE_PASSWORD_|TEST_|EXAMPLES_)\w+")
_SIMILAR = 0.7  #: difflib's ratio, of names without the prefix


def unknown_settings(variables: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each variable that is not a setting, with the setting that was probably meant."""
    known = {name.removeprefix(_PREFIX) for name in SETTING_NAMES | _OTHERS}
    for variable in sorted(variables):
        name = variable.removeprefix(_PREFIX)
        if name in (variable, "") or name in known or name.removesuffix("_FILE") in known or _OWN.fullmatch(variable):
            continue
        near = get_close_matches(name.upper(), known, 1, _SIMILAR) or sorted(
            each for each in known if each.startswith(f"{name.upper()}_")
        )
        meant = f"did you mean {_PREFIX}{near[0]}?" if near else "docs/settings.md lists the settings."
        yield f"{variable} is not a setting of Assay and has no effect; {meant}"

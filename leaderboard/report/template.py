"""Pages from templates: the prose is in a Jinja file, numbers and tables come from Python. The same bytes for the same content."""

from pathlib import Path
from typing import Any

import jinja2


def render(path: Path, **content: Any) -> str:
    """Return the template at `path` filled in, with one newline at its end; in ``*.html.j2`` text is escaped.

    Raises:
        jinja2.UndefinedError: the template uses a name that `content` lacks.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(path.parent),
        autoescape=path.name.endswith(".html.j2"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name).render(**content).rstrip("\n") + "\n"

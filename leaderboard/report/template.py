"""Pages from templates: a Jinja file has the prose, Python the numbers and tables. The same content gives the same bytes."""

from pathlib import Path
from typing import Any

import jinja2


def render(path: Path, **content: Any) -> str:
    """Render the template at `path`, with one newline at its end; in ``*.html.j2`` text is escaped.

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

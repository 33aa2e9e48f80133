"""Completion for bash and zsh as one static script, so that a shell completes without starting Python.

vcgym --completion > ~/.local/share/bash-completion/completions/vcgym   (bash)
vcgym --completion >> ~/.zshrc                                          (zsh)
"""

import re
from collections.abc import Iterable, Mapping

from vcgym.scripts.console.usage import Key, groups_of

_SCRIPT = """\
# {program}: commands, keys and choices. Made by `{program} --completion`.
[ -n "$ZSH_VERSION" ] && autoload -U +X bashcompinit && bashcompinit
_{program}() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} line=${{COMP_LINE:0:COMP_POINT}} words=
    line=${{line##* }}
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='{commands}'
    else
        case ${{COMP_WORDS[1]}} in
{cases}
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$line"))
    if [[ $line == *=* && $COMP_WORDBREAKS == *=* ]]; then
        COMPREPLY=("${{COMPREPLY[@]#"${{line%%=*}}="}}")
    fi
    [[ ${{COMPREPLY[0]}} == *= ]] && compopt -o nospace 2>/dev/null
    return 0
}}
complete -F _{program} {program}
"""


def completion(program: str, commands: Mapping[str, tuple[Iterable[Key], str]], conf: str) -> str:
    """Return the script of a program.

    Args:
        program: what a user types.
        commands: keys of each command, and the name of its YAML.
        conf: package of the YAML files.
    """
    cases = [f"            {name}) words='{' '.join(_words(keys, yaml, conf))}' ;;" for name, (keys, yaml) in commands.items()]
    return _SCRIPT.format(program=program, commands=" ".join(commands), cases="\n".join(cases))


def _words(keys: Iterable[Key], yaml: str, conf: str) -> list[str]:
    """Return the keys of a command, and each choice of those that have a few."""
    words = ["--help"]
    for key in keys:
        if not key.name.endswith(".KEY"):
            choices = re.findall(r"[\w.-]+", key.allowed) if re.fullmatch(r"[\w.-]+(?:, [\w.-]+)+", key.allowed) else []
            words += [f"{key.name}=", *(f"{key.name}={choice}" for choice in choices)]
    for group, names, _ in groups_of(yaml, conf):
        words += [f"{group}={choice}" for choice in names]
    return list(dict.fromkeys(words))

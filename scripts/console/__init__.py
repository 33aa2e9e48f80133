"""Parts that all console commands share.

program      the program `vcgym` and its commands
usage        help of a command and completion, from the fields of its config
arguments    check of what was typed, before anything heavy is imported
literal      texts and paths as typed, quoted for hydra
search_path  folders of YAML files, also those of the user
command      composes and checks a config and passes it to one function; expected failures end in one line
"""

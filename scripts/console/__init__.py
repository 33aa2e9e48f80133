"""Parts that all console commands share.

program   the program `vcgym`, which finds the command
usage     help of a command, from its sources
command   composes and checks a config and passes it to one function; expected failures end in one line
"""

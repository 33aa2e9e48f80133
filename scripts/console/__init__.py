"""Parts that all console commands share.

program   the program `vcgym`, which finds the command
usage     help of a command, from its sources
command   a config is composed, checked and handed to one function; expected failures end in one line
"""

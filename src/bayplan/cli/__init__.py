"""The command line: one file for each command.

Commands parse, call and print; answers come from `bayplan.analysis`, text from `bayplan.report`. A command's module is
imported only when it runs, so that `bayplan --help` stays fast.
"""

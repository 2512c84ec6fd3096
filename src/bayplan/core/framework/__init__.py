"""The plugin contract (`contract`), what plugins answer (`verdict`), and ordered sets of plugins (`profile`)."""

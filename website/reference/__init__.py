"""Reference pages made of the code itself, so that none can fall behind: each module gives the Markdown of one page."""

"""The documentation as a site: `build` puts the pages together and runs MkDocs, `reference` makes pages of the code."""

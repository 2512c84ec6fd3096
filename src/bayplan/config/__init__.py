"""KubeSchedulerConfiguration to what a scheduler is built from.

In the order in which data flows: `document` reads a file, `decoding` turns it into the structs of `schema`,
`validation` and `args` check it, `merge` orders the plugins, `loading` puts it all together. `registry`
alone knows the plugins.
"""

from bayplan.config.loading import Configuration, ProfileSpec, load_configuration

__all__ = ["Configuration", "ProfileSpec", "load_configuration"]

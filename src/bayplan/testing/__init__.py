"""Public parts for writing tests: object builders.

`bayplan.testing.builders` makes Kubernetes objects in one line each. Nothing in the product imports this
package.
"""

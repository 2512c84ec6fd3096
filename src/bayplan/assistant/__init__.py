"""Questions for assistants, over the Model Context Protocol: read-only, bounded in size, and safe for tenants if asked.

`questions` has one function for each question; `seclusion` hides other namespaces; `replies` keeps answers small;
`server` offers the questions as tools. Nothing here writes to a cluster or reads a file that an assistant names.
"""

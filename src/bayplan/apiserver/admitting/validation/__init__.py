"""What an API server refuses about a document's content, in its words and order.

A file for each area. Checks take documents that have their defaults and add every fault as a cause to a `Faults`.
What other documents there are plays no part here.
"""

"""What writers of valid documents are warned of, in the server's words.

Takes documents that have their defaults; gives texts. Which writes are asked about is the kinds' decision.
"""

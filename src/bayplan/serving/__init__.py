"""What a running scheduler shows of itself: health, metrics and debug pages on the secure port, and its log.

Takes the live world and what looks on in it; answers over HTTPS, on the same event loop. Decides nothing and changes
nothing in the cluster.
"""

"""The bay plan: a page that shows a running cluster in a browser.

Takes a hosted cluster; serves the page's files, a feed of compact changes and explanations of pods. The page changes
things through the Kubernetes API itself, so that nothing works here which would not work with kubectl. No build step,
and nothing is loaded from elsewhere.
"""

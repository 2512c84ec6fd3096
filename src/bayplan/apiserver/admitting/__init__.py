"""What is known of documents on their way in: their form, defaults, checks and admission plugins.

A library of functions over documents. Which of them belong to which kind is said in `kinds`, and in which order they
are called in `registry.admission`.
"""

"""Label selectors and field selectors as query strings, with upstream's refusals.

`label_selectors` and `field_selectors` turn text into matchers; `selectable_fields` says which fields the documents of
a resource can be selected by. Which documents are looked at is decided elsewhere.
"""

"""What a sweep found, as text, as Markdown and as a page with drawings."""

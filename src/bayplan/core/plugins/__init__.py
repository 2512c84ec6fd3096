"""One module or package for each plugin, under upstream's names; nothing here imports another plugin."""

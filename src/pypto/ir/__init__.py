"""Program form: types, symbols, statements; their text, walkers and rules."""

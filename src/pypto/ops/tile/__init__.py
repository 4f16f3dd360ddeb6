"""Operations of the tile level: one row each (``table``), one file per family."""

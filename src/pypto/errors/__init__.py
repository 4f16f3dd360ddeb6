"""Every message a user can get, in families: one module per part of the house, one class per mistake."""

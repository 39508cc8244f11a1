"""Carries a BindRequest out, or undoes it, through small ports."""

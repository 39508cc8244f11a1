import os

from hypothesis import settings

settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile(os.environ.get("DRA_HYPOTHESIS", "reproducible"))

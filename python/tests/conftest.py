from hypothesis import settings

settings.register_profile("here", database=None, print_blob=True)  # nothing is written into the repository
settings.load_profile("here")

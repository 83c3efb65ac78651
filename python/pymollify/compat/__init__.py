"""Functions of other libraries, by their signatures, computed by pymollify: `from pymollify.compat import scipy as ndimage`."""

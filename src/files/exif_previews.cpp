#include "files/metadata.h"

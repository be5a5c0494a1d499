/* A PMPI tool in C that does nothing. */
#define BEFORE(function)
#include "wrapper.h"

#include "conformance/commands.h"

// Token pasting after macro expansion: PASTE(float, LANES) is float8 where LANES is 8.
#pragma once

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)

#pragma once
#include <gloo/shim.h>

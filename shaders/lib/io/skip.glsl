// Groups that begin at whole blocks of the source, wherever a region does: columns and rows before the destination, `skip`, which is one of
// the kernel's parameters. Include it after pixel.glsl.

// Whether there are any. A constant, so that kernels that fill their registers hold nothing for it where images are whole: as a number of all
// images it took sep_fused_coopmat one group of three from a processor (radius 9 of 8-bit pixels, H100: 105 us instead of 72).
layout(constant_id = 17) const bool skips = false;

ivec2 skipped() { return skips ? skip : ivec2(0); }
bool is_skipped(int place) { return skips && place < 0; }

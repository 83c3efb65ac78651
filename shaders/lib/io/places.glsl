// Destinations that hold every n-th pixel. A kernel works through all pixels of a region; of each axis those at multiples of a step are kept.
// Include it after pixel.glsl.

layout(constant_id = 34) const int step_x = 1;
layout(constant_id = 35) const int step_y = 1;

bool is_kept_column(int x) { return x % step_x == 0; }
bool is_kept_row(int y) { return y % step_y == 0; }
bool is_kept(ivec2 p) { return is_kept_column(p.x) && is_kept_row(p.y); }
// Where the destination holds the pixel at p of the region, or the last one before it that is kept.
ivec2 kept_place(ivec2 p) { return p / ivec2(step_x, step_y); }

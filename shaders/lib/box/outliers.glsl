// Halves from here on are outliers to the sums of boxes.

const float kOutlier = 32768.0;

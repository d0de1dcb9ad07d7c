//! The real binary, end to end.

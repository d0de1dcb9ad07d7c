//! The languages code can be written in.

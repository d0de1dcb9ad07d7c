//! The crate's tests against real parts: loopback HTTP and real files.

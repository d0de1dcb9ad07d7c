//! Where webhooks may be posted to, how they are signed, and posting itself.

pub mod posting;
pub mod signing;
pub mod ssrf_guard;

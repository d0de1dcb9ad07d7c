//! Honest fakes and harnesses: real wire formats, real files, no mocks.

pub mod openai_server;

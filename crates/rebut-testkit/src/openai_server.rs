//! The model server under the name it had when it spoke one format only.

pub use crate::model_server::{
    Behaviour, ModelServer as OpenAiServer, Seen, completion, stream_of,
};

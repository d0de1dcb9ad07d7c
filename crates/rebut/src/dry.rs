//! Models that show what they would send, and send nothing.

use rebut_engine::model::{Answer, Fault, FaultKind, Model, Models, Request};
use std::sync::{Arc, Mutex, PoisonError};

/// Collects the requests of a dry run.
pub struct Shown<M> {
    models: M,
    requests: Arc<Mutex<Vec<String>>>,
}

impl<M: Models> Shown<M> {
    /// Shows what these models would send.
    pub fn new(models: M) -> Self {
        Self { models, requests: Arc::default() }
    }

    /// Every request so far.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.requests.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<M: Models> Models for Shown<M> {
    fn open(&self, name: &str) -> Result<Arc<dyn Model>, Fault> {
        Ok(Arc::new(Mirror { model: self.models.open(name)?, name: name.to_owned(), requests: self.requests.clone() }))
    }
}

struct Mirror {
    model: Arc<dyn Model>,
    name: String,
    requests: Arc<Mutex<Vec<String>>>,
}

#[async_trait::async_trait]
impl Model for Mirror {
    async fn ask(&self, request: Request<'_>) -> Result<Answer, Fault> {
        let text = format!("=== {} to {} ===\n{}", request.turn, self.name, self.model.wire(&request));
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        Err(Fault::new(FaultKind::NotSent, "dry run"))
    }
}
